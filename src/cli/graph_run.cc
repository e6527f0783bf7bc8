#include "cli/graph_run.h"

#include <fmt/format.h>

#include <cstring>

#include "base/files.h"
#include "base/worker_client.h"

namespace sg {

Result<RecordedTensors> RunGraph(const RunnableGraph& graph, const std::string& pictures,
                                 const std::string& to, const ProgressFn& progress) {
  WorkerCall call;
  call.job = "onnx-run";
  call.request = {{"path", graph.path},
                  {"input", graph.input},
                  {"picture", graph.picture},
                  {"pictures_path", pictures},
                  {"to", to}};
  call.on_event = [&](const Json& event) { progress(event.value("fraction", 0.0), ""); };
  SG_ASSIGN_OR_RETURN(const Json reply, CallWorker(call));
  SG_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(to));
  RecordedTensors tensors;
  tensors.batch = reply.at("pictures").get<int>();
  size_t whole = 0;
  for (const Json& output : reply.at("outputs")) {
    RecordedOutput recorded;
    recorded.name = output.at("name").get<std::string>();
    recorded.dims = output.at("shape").get<std::vector<int>>();
    size_t size = 1;
    for (const int dim : recorded.dims) size *= static_cast<size_t>(dim);
    recorded.values.resize(size * static_cast<size_t>(tensors.batch));
    whole += recorded.values.size();
    tensors.outputs.push_back(std::move(recorded));
  }
  if (whole * sizeof(float) != bytes.size())
    return InternalError(fmt::format("{}: holds {} bytes of outputs, {} were told", to,
                                     bytes.size(), whole * sizeof(float)));
  size_t at = 0;
  for (int slot = 0; slot < tensors.batch; ++slot) {
    for (RecordedOutput& output : tensors.outputs) {
      const size_t size = output.values.size() / static_cast<size_t>(tensors.batch);
      std::memcpy(output.values.data() + static_cast<size_t>(slot) * size, bytes.data() + at,
                  size * sizeof(float));
      at += size * sizeof(float);
    }
  }
  return tensors;
}

}  // namespace sg

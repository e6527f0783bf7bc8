// Logs of other programs: trtexec, deepstream-app, nvidia-smi, whatever they hold.
#include <cstddef>
#include <cstdint>
#include <string>

#include "deepstream/perf_log.h"
#include "deepstream/symptoms.h"
#include "deepstream/toolset.h"
#include "engine/tensorrt/trtexec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const sg::TrtLog log = sg::ParseTrtLog(text);
  if (log.throughput_qps && *log.throughput_qps < 0) __builtin_trap();
  sg::FailedForeignNode(log);
  for (const sg::PerfLine& line : sg::ParsePerfLog(text))
    for (const double fps : line)
      if (!(fps >= 0)) __builtin_trap();
  sg::FindSymptoms(text);
  sg::ParseGpuRows(text);
  return 0;
}

#include "onnx/graph_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <random>

#include "base/files.h"
#include "onnx/wire_walk.h"

namespace sg {
namespace {

constexpr uint64_t kMaxMessageBytes = 0x7fffffff;  // protobuf's limit

/// What is often found under the name of an .onnx file and is none.
Status CheckIsNotSomethingElse(const std::string& path, std::string_view bytes) {
  if (bytes.empty()) return UserError(fmt::format("{}: is empty; download it again", path));
  if (bytes.size() > kMaxMessageBytes) {
    return UserError(
        fmt::format("{}: is {} bytes, an ONNX file holds at most 2 GB; save it with its weights as "
                    "external data",
                    path, bytes.size()));
  }
  if (bytes.starts_with("version https://git-lfs")) {
    return UserError(fmt::format(
        "{}: is a Git LFS pointer, not the model; get the file itself with git lfs pull", path));
  }
  const std::string_view start = bytes.substr(0, 64);
  const size_t text = start.find_first_not_of(" \t\r\n");
  if (text != std::string_view::npos && start[text] == '<') {
    return UserError(
        fmt::format("{}: is a web page, not an ONNX model; download the file itself", path));
  }
  return OkStatus();
}

std::string RandomMarker() {
  std::random_device random;
  return fmt::format("\x01mapped-{:08x}{:08x}-", random(), random());
}

using Restore = std::function<void(onnx::TensorProto*)>;
void RestoreNode(onnx::NodeProto* node, const Restore& restore);

/// Gives every tensor of the graph and its subgraphs its bytes back.
void RestoreGraph(onnx::GraphProto* graph, const Restore& restore) {
  for (auto& tensor : *graph->mutable_initializer()) restore(&tensor);
  for (auto& sparse : *graph->mutable_sparse_initializer()) {
    restore(sparse.mutable_values());
    restore(sparse.mutable_indices());
  }
  for (auto& node : *graph->mutable_node()) RestoreNode(&node, restore);
}

void RestoreNode(onnx::NodeProto* node, const Restore& restore) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_t()) restore(attribute.mutable_t());
    for (auto& tensor : *attribute.mutable_tensors()) restore(&tensor);
    if (attribute.has_g()) RestoreGraph(attribute.mutable_g(), restore);
    for (auto& graph : *attribute.mutable_graphs()) RestoreGraph(&graph, restore);
  }
}

/// Tells apart the external weights of one model.
std::string ExternalKey(const onnx::TensorProto& tensor) {
  std::string key = fmt::format("{}", fmt::join(tensor.dims(), ","));
  for (const auto& entry : tensor.external_data()) key += "\n" + entry.key() + "=" + entry.value();
  return key;
}

/// Bytes of a small integer tensor, which may be a shape; 0 for any other.
size_t SmallIntegerBytes(const onnx::TensorProto& tensor) {
  size_t bytes = tensor.data_type() == onnx::TensorProto::INT64   ? 8
                 : tensor.data_type() == onnx::TensorProto::INT32 ? 4
                                                                  : 0;
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0 || dim >= static_cast<int64_t>(kLargeWeightBytes)) return 0;
    bytes *= static_cast<size_t>(dim);
    if (bytes >= kLargeWeightBytes) return 0;
  }
  return bytes;
}

}  // namespace

bool StaysInFolder(const std::string& folder, const std::string& name) {
  // ".." is refused even where it leads back in: the name is also one to fetch under.
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string::npos ||
      ("/" + name + "/").find("/../") != std::string::npos) {
    return false;
  }
  const std::string root = AbsolutePath(folder);
  const std::string target = AbsolutePath(JoinPath(root, name));
  if (target.starts_with(root + "/")) return true;
  const size_t snapshots = root.rfind("/snapshots/");
  return snapshots != std::string::npos &&
         target.starts_with(root.substr(0, snapshots) + "/blobs/");
}

struct GraphFile::Mapping {
  void* start = MAP_FAILED;
  size_t size = 0;
  ~Mapping() {
    if (start != MAP_FAILED) munmap(start, size);
  }
};

Result<GraphFile> GraphFile::Open(const std::string& path) {
  if (FolderExists(path)) return UserError(fmt::format("{}: is a folder, not an ONNX file", path));
  if (!FileExists(path)) return UserError(fmt::format("{}: no such file", path));
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return EnvironmentError(fmt::format("{}: cannot be opened", path));
  GraphFile file;
  file.path_ = path;
  file.mapping_ = std::make_shared<Mapping>();
  struct stat info = {};
  const bool known = fstat(descriptor, &info) == 0;
  file.mapping_->size = known ? static_cast<size_t>(info.st_size) : 0;
  if (file.mapping_->size > 0) {
    file.mapping_->start =
        mmap(nullptr, file.mapping_->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (file.mapping_->start == MAP_FAILED) {
      close(descriptor);
      return EnvironmentError(fmt::format("{}: cannot be read", path));
    }
    file.bytes_ = {static_cast<const char*>(file.mapping_->start), file.mapping_->size};
  }
  close(descriptor);
  SG_RETURN_IF_ERROR(file.Parse());
  file.ReadSmallExternal();
  return file;
}

Result<GraphFile> GraphFile::FromBytes(std::string_view bytes, const std::string& name) {
  GraphFile file;
  file.path_ = name;
  file.bytes_ = bytes;
  SG_RETURN_IF_ERROR(file.Parse());
  return file;
}

Status GraphFile::Parse() {
  SG_RETURN_IF_ERROR(CheckIsNotSomethingElse(path_, bytes_));
  marker_ = RandomMarker();
  const std::optional<std::string> light = WithoutWeights(bytes_, marker_);
  if (!light || !model_.ParseFromString(*light)) {
    return UserError(
        fmt::format("{}: truncated or damaged: its {} bytes are not a whole ONNX model; download "
                    "or export it again",
                    path_, bytes_.size()));
  }
  return OkStatus();
}

void GraphFile::ReadSmallExternal() {
  const std::string folder = AbsolutePath(ParentFolder(path_));
  RestoreGraph(model_.mutable_graph(), [&](onnx::TensorProto* tensor) {
    const size_t size = SmallIntegerBytes(*tensor);
    if (size == 0 || tensor->data_location() != onnx::TensorProto::EXTERNAL || IsMapped(*tensor))
      return;
    std::string location;
    uint64_t offset = 0;
    for (const auto& entry : tensor->external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset") offset = std::strtoull(entry.value().c_str(), nullptr, 10);
    }
    if (!StaysInFolder(folder, location)) return;  // refused by CheckGraph
    std::ifstream stream(JoinPath(folder, location), std::ios::binary);
    std::string bytes(size, '\0');
    if (stream.seekg(static_cast<std::streamoff>(offset)) &&
        stream.read(bytes.data(), static_cast<std::streamsize>(size)))
      small_external_[ExternalKey(*tensor)] = std::move(bytes);
  });
}

bool GraphFile::IsMapped(const onnx::TensorProto& tensor) const {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL &&
         tensor.external_data_size() == 1 && tensor.external_data(0).key().starts_with(marker_);
}

std::string_view GraphFile::RawBytes(const onnx::TensorProto& tensor) const {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL && !IsMapped(tensor)) {
    const auto found = small_external_.find(ExternalKey(tensor));
    return found == small_external_.end() ? std::string_view() : found->second;
  }
  if (!IsMapped(tensor)) return tensor.raw_data();
  const auto number = [](std::string_view text) {
    uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const auto& entry = tensor.external_data(0);
  const std::string_view offset = std::string_view(entry.key()).substr(marker_.size());
  return bytes_.substr(number(offset), number(entry.value()));
}

void GraphFile::GiveBytesBack(onnx::TensorProto* tensor) const {
  const std::string_view bytes = RawBytes(*tensor);
  if (tensor->data_location() != onnx::TensorProto::EXTERNAL || bytes.empty()) return;
  tensor->clear_external_data();
  tensor->clear_data_location();
  tensor->set_raw_data(bytes.data(), bytes.size());
}

std::string GraphFile::SkeletonBytes() const {
  onnx::ModelProto model = model_;
  auto* graph = model.mutable_graph();
  auto* kept = graph->mutable_initializer();
  const auto add_input = [&](const std::string& name, const onnx::TensorProto& tensor) {
    for (const auto& input : graph->input()) {
      if (input.name() == name) return;
    }
    auto* input = graph->add_input();
    input->set_name(name);
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    type->mutable_shape();
    for (const int64_t dim : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
  };
  // External weights are as large, and their file may be elsewhere by now.
  const auto large = [this](const onnx::TensorProto& tensor) {
    return tensor.data_location() == onnx::TensorProto::EXTERNAL &&
           (IsMapped(tensor) || RawBytes(tensor).empty());
  };
  for (int i = kept->size() - 1; i >= 0; --i) {
    if (!large(kept->Get(i))) continue;
    add_input(kept->Get(i).name(), kept->Get(i));
    kept->DeleteSubrange(i, 1);
  }
  auto* nodes = graph->mutable_node();
  for (int i = nodes->size() - 1; i >= 0; --i) {
    const auto& node = nodes->Get(i);
    if (node.op_type() != "Constant" || node.attribute_size() != 1 || node.output_size() != 1 ||
        !node.attribute(0).has_t() || !large(node.attribute(0).t()))
      continue;
    add_input(node.output(0), node.attribute(0).t());
    nodes->DeleteSubrange(i, 1);
  }
  RestoreGraph(graph, [this](onnx::TensorProto* tensor) { GiveBytesBack(tensor); });
  return model.SerializeAsString();
}

Result<std::string> GraphFile::WholeBytes() const {
  onnx::ModelProto model = model_;
  const Restore restore = [this](onnx::TensorProto* tensor) { GiveBytesBack(tensor); };
  RestoreGraph(model.mutable_graph(), restore);
  for (auto& function : *model.mutable_functions()) {
    for (auto& node : *function.mutable_node()) RestoreNode(&node, restore);
  }
  if (model.ByteSizeLong() > kMaxMessageBytes)
    return UnsupportedError(path_ + ": is more than 2 GB when written as one file");
  return model.SerializeAsString();
}

}  // namespace sg

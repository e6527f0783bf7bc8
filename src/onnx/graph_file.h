// An ONNX file in memory without copies of its weights: the messages hold everything but the large
// raw bytes, which stay where they are in the mapped file.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sg {

/// Whether a weight file that a graph names, relative to its folder, is inside that folder, also
/// through links. A link of Hugging Face's cache (…/snapshots/COMMIT/… to …/blobs/…) stays with the
/// model. The file need not be there.
bool StaysInFolder(const std::string& folder, const std::string& name);

class GraphFile {
 public:
  /// Maps and parses the file. kUser when it is missing, is something else, or is not a whole ONNX
  /// message; what the message says is not checked (see ReadOnnxFile).
  static Result<GraphFile> Open(const std::string& path);
  /// The same of bytes that the caller keeps alive as long as the GraphFile.
  static Result<GraphFile> FromBytes(std::string_view bytes, const std::string& name);

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return bytes_.size(); }
  /// The whole file.
  std::string_view bytes() const { return bytes_; }
  const onnx::ModelProto& model() const { return model_; }
  onnx::ModelProto& model() { return model_; }

  /// True for a tensor whose bytes are in the mapped file.
  bool IsMapped(const onnx::TensorProto& tensor) const;
  /// The tensor's raw bytes: those of the message, or of the mapped file. Empty for typed fields
  /// and for external data, but for a few external integers, which may be shapes.
  std::string_view RawBytes(const onnx::TensorProto& tensor) const;

  /// The graph as bytes without its large weights: these have become graph inputs of their shape
  /// and type, so that shapes can be inferred from it (weights of subgraphs stay).
  std::string SkeletonBytes() const;
  /// The whole model as bytes, weights included. kUnsupported beyond protobuf's 2 GB.
  Result<std::string> WholeBytes() const;

 private:
  struct Mapping;
  Status Parse();
  void ReadSmallExternal();
  void GiveBytesBack(onnx::TensorProto* tensor) const;

  std::string path_;
  std::shared_ptr<Mapping> mapping_;
  std::string_view bytes_;
  onnx::ModelProto model_;
  std::map<std::string, std::string> small_external_;  ///< integers, which may be shapes
  std::string marker_;  ///< of tensors that are mapped; unguessable, so no file can contain it
};

}  // namespace sg

// The bytes of an engine file (docs/formats.md, "Engine file"): a checked header and the exported
// compiled models behind it. Knows nothing of OpenVINO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"

namespace sg::openvino {

struct ExportedModel {
  int batch = 1;
  std::string bytes;
};

/// The file's content. `artifact` is stored in the header, but its path, size_bytes and sha256,
/// which only exist once the file does.
std::string EngineFileBytes(const EngineArtifact& artifact, std::vector<ExportedModel> parts);

/// An engine file in memory, each part checked against its size and hash.
class MappedEngineFile {
 public:
  struct Part {
    int batch;
    const char* data;  ///< aligned to a page; lives as long as this object
    size_t size_bytes;
  };

  /// kUser when the file is not whole; the message is the reason alone, without the path. kUser
  /// also for a file that does not exist.
  static Result<MappedEngineFile> Open(const std::string& path);
  ~MappedEngineFile();
  MappedEngineFile(MappedEngineFile&& other) noexcept;
  MappedEngineFile& operator=(MappedEngineFile&& other) noexcept;

  const EngineArtifact& artifact() const { return artifact_; }
  const std::vector<Part>& parts() const { return parts_; }  ///< ascending in batch

 private:
  MappedEngineFile() = default;
  Status ReadHeader();

  const char* data_ = nullptr;
  size_t size_bytes_ = 0;
  EngineArtifact artifact_;
  std::vector<Part> parts_;
};

}  // namespace sg::openvino

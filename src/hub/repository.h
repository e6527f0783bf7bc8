// A model's files, wherever they are: listed first, fetched one by one as they turn out needed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "hub/source.h"

namespace sg {

struct RepositoryFile {
  std::string path;  ///< relative, with '/'
  uint64_t size_bytes = 0;
  std::string sha256;    ///< empty where the listing does not say
  std::string git_sha1;  ///< of the git blob; Hugging Face's small files
};

/// Files on disk, where they came from, and what is known of them.
struct ModelSnapshot {
  std::string source;    ///< as the user typed it
  std::string kind;      ///< SourceKindName
  std::string id;        ///< "PekingU/rtdetr_r50vd", "nvidia/tao/name:version", the URL or the path
  std::string name;      ///< suggestion for models/NAME
  std::string revision;  ///< what was asked for ("main" by default); empty for local files
  std::string commit;    ///< what it was pinned to; empty where there is none
  std::string licence;   ///< SPDX id or the hub's word; empty: unknown
  std::string task;      ///< the hub's pipeline_tag; empty: unknown
  std::string folder;    ///< fetched files are here under their relative paths
  std::string file;      ///< the one that the source names (/blob/…, an .onnx); empty: none
};

struct HubOptions {
  std::string revision;  ///< --revision; wins over the one in the source
  /// Where NGC files and unpacked archives are kept while they are needed. Hugging Face files go to
  /// the cache that huggingface_hub uses, files of other URLs to ~/.cache/streamgauge.
  std::string staging_folder;
  std::function<void(double fraction, const std::string& note)> progress;
};

class Repository {
 public:
  virtual ~Repository() = default;
  virtual const ModelSnapshot& snapshot() const = 0;
  virtual const std::vector<RepositoryFile>& files() const = 0;
  /// The listed file of that path; null when there is none.
  const RepositoryFile* Find(const std::string& path) const;
  /// Makes the files be under snapshot().folder. Those already there cost nothing.
  virtual Status Fetch(const std::vector<std::string>& paths) = 0;
};

/// Looks the source up (one or a few small requests; an archive is fetched whole). Errors name the
/// source and what to do.
Result<std::unique_ptr<Repository>> OpenRepository(const ModelSource& source,
                                                   const HubOptions& options);

}  // namespace sg

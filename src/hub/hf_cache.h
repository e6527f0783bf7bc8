// The cache that huggingface_hub keeps, in its own layout: a model that is there already is not
// fetched again, and what we fetch Python finds.
//
//   HF_HUB_CACHE/models--ORG--NAME/refs/REVISION              the commit, as text
//                                 /blobs/ETAG                 contents; ETAG is the LFS sha256 or
//                                 the
//                                                             git blob's sha1
//                                 /snapshots/COMMIT/PATH      links to ../../blobs/ETAG
//               /.locks/models--ORG--NAME/ETAG.lock           flock()ed while a blob is fetched
//
// Layout, names and variables as in huggingface_hub's file_download.py and constants.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "hub/repository.h"

namespace sg {

/// What the environment says of the hub, read once.
struct HfEnvironment {
  std::string endpoint;  ///< HF_ENDPOINT, without a final slash; https://huggingface.co
  std::string
      cache_folder;   ///< HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub, ~/.cache/…
  std::string token;  ///< HF_TOKEN, else the login file; empty: none
  bool offline = false;  ///< HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE
};
HfEnvironment ReadHfEnvironment();

/// One repository's part of the cache. Values only; files are looked at when asked.
class HfCache {
 public:
  HfCache(std::string cache_folder, const std::string& org, const std::string& name);

  /// The commit that `revision` was at when it was last seen (a commit is its own); nullopt: never.
  std::optional<std::string> CommitOf(const std::string& revision) const;
  /// Remembers that. kEnvironment when the cache cannot be written.
  Status RememberCommit(const std::string& revision, const std::string& commit) const;

  std::string SnapshotFolder(const std::string& commit) const;
  std::string BlobPath(const std::string& etag) const;
  std::string LockPath(const std::string& etag) const;
  /// True when the snapshot has the file, whole (its link leads to something).
  bool Has(const std::string& commit, const std::string& path) const;
  /// Files of a snapshot that are there, with their sizes; hashes from the names of their blobs.
  Result<std::vector<RepositoryFile>> FilesOf(const std::string& commit) const;
  /// Makes snapshots/COMMIT/PATH a relative link to the blob; a copy where links cannot be made.
  Status LinkFile(const std::string& commit, const std::string& path,
                  const std::string& etag) const;

 private:
  std::string cache_folder_;
  std::string folder_name_;
  std::string folder_;
};

/// So many lower-case hex digits, and nothing else.
bool IsHex(const std::string& text, size_t length);
/// 40 of them.
bool IsCommit(const std::string& revision);

}  // namespace sg

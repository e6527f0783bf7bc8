// Files from the net that are whole or absent: parallel ranges, resumed after any cut, checked by
// size and hash before they get their name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "hub/http.h"

namespace sg {

struct DownloadFile {
  std::string url;
  std::string path;  ///< the whole file; while it grows it is `path`.part (with its state beside)
  std::optional<uint64_t> size_bytes;  ///< known from the listing; checked
  std::string sha256;                  ///< lower-case hex, checked; empty: unknown
  std::string git_sha1;                ///< of the git blob, checked; empty: unknown
  /// flock()ed while the file is fetched, so that two processes share; empty: `path`.lock.
  std::string lock_path;
};

struct DownloadOptions {
  std::string token;                 ///< as HttpRequest::token
  std::vector<std::string> headers;  ///< as HttpRequest::headers
  int connections = 4;               ///< for one large file
  /// Turns a response that is not a success into the user's words; HttpStatusError when empty.
  std::function<Error(const HttpResponse&)> explain;
  /// Fraction of all bytes, and "12.3 of 40.1 MB, 8.1 MB/s".
  std::function<void(double fraction, const std::string& note)> progress;
};

/// Fetches the files that are not at their paths yet, in order. Free space for what is missing is
/// checked first. A file whose size or hash is wrong is deleted and is kEnvironment (kGate never):
/// the message names both values. After kInterrupted or a kill the next call goes on with what is
/// there and repeats at most the chunk that was under way. Memory stays below 64 MB.
Status DownloadFiles(HttpClient* client, const std::vector<DownloadFile>& files,
                     const DownloadOptions& options);

}  // namespace sg

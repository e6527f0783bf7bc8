// Unpacks .zip, .tar, .tar.gz and .tgz that come from strangers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct ArchiveLimits {
  uint64_t max_bytes = uint64_t{64} << 30;  ///< of all files together, unpacked
  uint64_t max_files = 10000;
  /// Unpacked ÷ packed bytes, looked at from 100 MB unpacked on.
  double max_ratio = 200;
};

/// True for the file names that UnpackArchive takes.
bool IsArchiveName(const std::string& file_name);

/// Unpacks into `folder` (made; unpacked into `folder`.part and renamed, so it is whole or absent; an
/// older one stays until then, after a kill as `folder`.old, which the next call takes back) and
/// returns the files' paths relative to it, sorted. Files get mode 0644 less the umask; what
/// macOS adds (__MACOSX, ._*) is left out. Refused, with nothing left behind: absolute paths, "..",
/// links of both kinds, devices, two entries of one name, names that differ by case only or are not
/// plain UTF-8, more than the limits, a damaged, cut-off or encrypted archive, one gzipped file.
/// kUser for what the archive is, kEnvironment for a full or read-only disk, kInterrupted for
/// Ctrl-C. One thread per folder.
Result<std::vector<std::string>> UnpackArchive(const std::string& archive,
                                               const std::string& folder,
                                               const ArchiveLimits& limits = {});

}  // namespace sg

// Files that are either whole or absent, and the checks that belong before long work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sg {

/// The whole file. kUser when it does not exist or is a folder, kEnvironment when it cannot be
/// read.
Result<std::string> ReadFile(const std::string& path);

/// Writes `bytes` beside `path`, syncs, and renames over it: a reader sees the old file or the new
/// one, never a part. kEnvironment on failure, with nothing left behind.
Status WriteFileAtomic(const std::string& path, const std::string& bytes);

/// Copies a file by content, atomically (as WriteFileAtomic). The source may be of any size.
Status CopyFileAtomic(const std::string& from, const std::string& to);

/// Moves a file or folder within one file system, over an existing file.
Status RenameFile(const std::string& from, const std::string& to);

/// Creates `path` and its parents. kEnvironment when that is not permitted.
Status MakeFolders(const std::string& path);

/// Deletes a file or a folder with all it holds; success when there is nothing.
Status RemoveAll(const std::string& path);

bool FileExists(const std::string& path);
bool FolderExists(const std::string& path);
Result<uint64_t> FileSize(const std::string& path);

/// Lower-case hex SHA-256 of a file's bytes, or of a string.
Result<std::string> Sha256File(const std::string& path);
std::string Sha256(std::string_view bytes);

/// kEnvironment unless `folder` (or, while it does not exist, its nearest existing parent) can be
/// written and has `need_bytes` free; found by writing a probe file of one block, which is removed.
Status CheckWritable(const std::string& folder, uint64_t need_bytes);

/// Sorted names (not paths) in a folder.
Result<std::vector<std::string>> ListFolder(const std::string& path);

/// True for a relative path of plain parts ('/' between them, no "..", ".", empty part, backslash
/// or NUL): joined to a folder it stays inside. For names that come from strangers.
bool IsInnerPath(const std::string& path);
std::string JoinPath(const std::string& a, const std::string& b);
/// The path without its last part ("." when there is only one).
std::string ParentFolder(const std::string& path);
/// The last part of the path; a trailing slash does not count.
std::string BaseName(const std::string& path);
/// Absolute, with symbolic links and dots resolved as far as the path exists.
std::string AbsolutePath(const std::string& path);
/// The folder of the running program's file.
std::string ProgramFolder();
/// The folder of our GStreamer plugin, which is installed beside the programs.
std::string PluginFolder();

}  // namespace sg

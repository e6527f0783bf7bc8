#include "hub/hf_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/environment.h"
#include "base/files.h"

namespace sg {
namespace {

namespace fs = std::filesystem;

/// As Python's os.path.expanduser for the one form that occurs.
std::string WithHome(const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  return Environment("HOME") + path.substr(1);
}

/// "1", "ON", "YES" and "TRUE" in any case.
bool IsTrue(std::string value) {
  for (char& c : value) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string Trimmed(const std::string& text) {
  constexpr char kSpace[] = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::string FirstSet(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) return value;
  }
  return "";
}

RepositoryFile CachedFile(const fs::path& path, const fs::path& root) {
  RepositoryFile file;
  file.path = path.lexically_relative(root).string();
  std::error_code ignored;
  file.size_bytes = fs::file_size(path, ignored);
  if (fs::is_symlink(path, ignored)) {
    const std::string blob = fs::read_symlink(path, ignored).filename().string();
    if (IsHex(blob, 64)) file.sha256 = blob;
    if (IsHex(blob, 40)) file.git_sha1 = blob;
  }
  return file;
}

}  // namespace

HfEnvironment ReadHfEnvironment() {
  HfEnvironment environment;
  environment.endpoint = FirstSet({Environment("HF_ENDPOINT"), "https://huggingface.co"});
  while (environment.endpoint.ends_with('/')) environment.endpoint.pop_back();
  const std::string user_cache = FirstSet({Environment("XDG_CACHE_HOME"), "~/.cache"});
  const std::string home =
      WithHome(FirstSet({Environment("HF_HOME"), JoinPath(user_cache, "huggingface")}));
  environment.cache_folder = WithHome(FirstSet(
      {Environment("HF_HUB_CACHE"), Environment("HUGGINGFACE_HUB_CACHE"), JoinPath(home, "hub")}));
  environment.offline =
      IsTrue(FirstSet({Environment("HF_HUB_OFFLINE"), Environment("TRANSFORMERS_OFFLINE")}));
  environment.token =
      Trimmed(FirstSet({Environment("HF_TOKEN"), Environment("HUGGING_FACE_HUB_TOKEN")}));
  if (environment.token.empty() && !IsTrue(Environment("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) {
    const std::string file =
        WithHome(FirstSet({Environment("HF_TOKEN_PATH"), JoinPath(home, "token")}));
    if (FileExists(file)) {
      const Result<std::string> text = ReadFile(file);
      if (text.ok()) environment.token = Trimmed(*text);
    }
  }
  return environment;
}

HfCache::HfCache(std::string cache_folder, const std::string& org, const std::string& name)
    : cache_folder_(std::move(cache_folder)),
      folder_name_(fmt::format("models--{}--{}", org, name)),
      folder_(JoinPath(cache_folder_, folder_name_)) {}

std::optional<std::string> HfCache::CommitOf(const std::string& revision) const {
  if (IsCommit(revision)) return revision;
  const std::string path = folder_ + "/refs/" + revision;
  if (!FileExists(path)) return std::nullopt;
  const Result<std::string> text = ReadFile(path);
  if (!text.ok() || !IsCommit(Trimmed(*text))) return std::nullopt;
  return Trimmed(*text);
}

Status HfCache::RememberCommit(const std::string& revision, const std::string& commit) const {
  if (revision == commit || CommitOf(revision) == commit) return OkStatus();
  const std::string path = folder_ + "/refs/" + revision;
  SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(path)));
  return WriteFileAtomic(path, commit);
}

std::string HfCache::SnapshotFolder(const std::string& commit) const {
  return folder_ + "/snapshots/" + commit;
}

std::string HfCache::BlobPath(const std::string& etag) const { return folder_ + "/blobs/" + etag; }

std::string HfCache::LockPath(const std::string& etag) const {
  return fmt::format("{}/.locks/{}/{}.lock", cache_folder_, folder_name_, etag);
}

bool HfCache::Has(const std::string& commit, const std::string& path) const {
  return FileExists(SnapshotFolder(commit) + "/" + path);
}

Result<std::vector<RepositoryFile>> HfCache::FilesOf(const std::string& commit) const {
  const fs::path root = SnapshotFolder(commit);
  std::vector<RepositoryFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    if (fs::is_regular_file(entry->path(), error)) files.push_back(CachedFile(entry->path(), root));
    error.clear();  // a link that leads nowhere is a file that is not there
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return EnvironmentError(fmt::format("{}: cannot be read: {}", root.string(), error.message()));
  }
  std::sort(files.begin(), files.end(),
            [](const RepositoryFile& a, const RepositoryFile& b) { return a.path < b.path; });
  return files;
}

Status HfCache::LinkFile(const std::string& commit, const std::string& path,
                         const std::string& etag) const {
  const std::string link = SnapshotFolder(commit) + "/" + path;
  if (FileExists(link)) return OkStatus();
  SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(link)));
  const fs::path target = fs::path(BlobPath(etag)).lexically_relative(ParentFolder(link));
  // A link that leads nowhere (its blob was deleted) is in the way; its blob is there again now.
  if (symlink(target.c_str(), link.c_str()) == 0 || FileExists(link)) return OkStatus();
  if (errno == EEXIST && unlink(link.c_str()) == 0 && symlink(target.c_str(), link.c_str()) == 0) {
    return OkStatus();
  }
  return CopyFileAtomic(BlobPath(etag), link);
}

bool IsHex(const std::string& text, size_t length) {
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool IsCommit(const std::string& revision) { return IsHex(revision, 40); }

}  // namespace sg

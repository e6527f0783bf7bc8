#include "hub/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/interrupt.h"

namespace sg {
namespace {

/// Bombs show from here on; a small archive of zeros is none.
constexpr uint64_t kRatioFromBytes = uint64_t{100} << 20;
constexpr size_t kBlockBytes = size_t{1} << 18;
constexpr size_t kMaxPathBytes = 1024;

struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeReader>;

/// As the one file system that many users have (and zip's makers) would see it.
std::string Folded(const std::string& path) {
  std::string folded = path;
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

bool IsUtf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t more = c < 0x80                ? 0
                        : c >= 0xC2 && c < 0xE0 ? 1
                        : c >= 0xE0 && c < 0xF0 ? 2
                        : c >= 0xF0 && c < 0xF5 ? 3
                                                : text.size();
    if (i + more >= text.size()) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

/// Why the name cannot be used; empty: it can.
std::string NameFault(const std::string& name) {
  if (name.empty()) return "has an empty name";
  if (name.size() > kMaxPathBytes) return "has a name that is too long";
  if (!IsUtf8(name)) return "has a name that is not UTF-8";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "has a control character";
    if (c == '\\') return "has a backslash in its name";
  }
  if (name.front() == '/') return "has an absolute path";
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part == "..") return "leads out of the folder";
    if (part.empty() || part == ".") return "has an empty part in its path";
    begin = end + 1;
  }
  return "";
}

/// "./a/b/" as "a/b": tar writes folders and leading dots so.
std::string Trimmed(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  while (name.ends_with('/')) name.pop_back();
  return name;
}

class Unpacking {
 public:
  Unpacking(std::string archive, std::string folder, const ArchiveLimits& limits)
      : archive_(std::move(archive)), folder_(std::move(folder)), limits_(limits) {}

  Result<std::vector<std::string>> Run() {
    SG_ASSIGN_OR_RETURN(packed_bytes_, FileSize(archive_));
    reader_.reset(archive_read_new());
    SG_CHECK(reader_ != nullptr);
    archive_read_support_format_zip(reader_.get());
    archive_read_support_format_tar(reader_.get());
    archive_read_support_format_gnutar(reader_.get());
    archive_read_support_filter_gzip(reader_.get());
    if (archive_read_open_filename(reader_.get(), archive_.c_str(), kBlockBytes) != ARCHIVE_OK) {
      return Damaged();
    }
    SG_RETURN_IF_ERROR(MakeFolders(folder_));
    while (true) {
      if (Interrupted()) return InterruptedError();
      archive_entry* entry = nullptr;
      const int code = archive_read_next_header(reader_.get(), &entry);
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return Damaged();
      SG_RETURN_IF_ERROR(Take(entry));
    }
    if (files_.empty()) return UserError(fmt::format("{}: has no file in it", archive_));
    std::sort(files_.begin(), files_.end());
    return files_;
  }

 private:
  Error Refused(const std::string& name, const std::string& why) const {
    return UserError(
        fmt::format("{}: its entry '{}' {}; nothing was unpacked", archive_, Shown(name), why));
  }
  static std::string Shown(const std::string& name) {
    std::string shown;
    for (const char c : name.substr(0, 100)) {
      shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return shown;
  }
  Error Damaged() const {
    const char* why = archive_error_string(reader_.get());
    return UserError(fmt::format("{}: is damaged, cut off or no archive ({}); fetch it again",
                                 archive_, why == nullptr ? "unreadable" : why));
  }

  Status Take(archive_entry* entry) {
    const char* raw = archive_entry_pathname(entry);
    const std::string name = raw == nullptr ? "" : raw;
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr ||
        archive_entry_filetype(entry) == AE_IFLNK) {
      return Refused(name, "is a link");
    }
    const std::string path = Trimmed(name);
    const bool is_folder = archive_entry_filetype(entry) == AE_IFDIR;
    if (is_folder && (path.empty() || path == ".")) return OkStatus();
    if (const std::string fault = NameFault(path); !fault.empty()) return Refused(name, fault);
    if (is_folder) return MakeFolders(JoinPath(folder_, path));
    if (archive_entry_filetype(entry) != AE_IFREG) return Refused(name, "is not a file");
    if (archive_entry_is_encrypted(entry) != 0) {
      return UserError(
          fmt::format("{}: is encrypted; unpack it yourself and give the folder", archive_));
    }
    if (files_.size() >= limits_.max_files) {
      return UserError(
          fmt::format("{}: has more than {} files, so it is no model; nothing was "
                      "unpacked",
                      archive_, limits_.max_files));
    }
    if (!seen_.insert(Folded(path)).second) {
      return Refused(name, "is there twice (upper and lower case count as the same)");
    }
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      if (seen_.count(Folded(path.substr(0, slash))) > 0) {
        return Refused(name, "lies in what is a file");
      }
    }
    files_.push_back(path);
    return WriteFile(path);
  }

  Status WriteFile(const std::string& path) {
    const std::string target = JoinPath(folder_, path);
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(target)));
    const int fd = open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
      if (errno == EEXIST || errno == EISDIR || errno == ENOTDIR) {
        return Refused(path, "is both a file and a folder");
      }
      return EnvironmentError(
          fmt::format("{}: cannot be written: {}", target, std::strerror(errno)));
    }
    Status status = CopyData(fd, target, path);
    if (close(fd) != 0 && status.ok()) {
      status =
          EnvironmentError(fmt::format("{}: cannot be written: {}", target, std::strerror(errno)));
    }
    return status;
  }

  Status CopyData(int fd, const std::string& target, const std::string& path) {
    while (true) {
      if (Interrupted()) return InterruptedError();
      const void* bytes = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(reader_.get(), &bytes, &size, &offset);
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK) return Damaged();
      unpacked_bytes_ += size;
      // A sparse file's holes cost nothing on the disk, and as much as bytes to who reads it.
      SG_RETURN_IF_ERROR(CheckBomb(static_cast<uint64_t>(offset) + size, path));
      for (size_t done = 0; done < size;) {
        const ssize_t n = pwrite(fd, static_cast<const char*>(bytes) + done, size - done,
                                 static_cast<off_t>(offset) + static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
          return EnvironmentError(
              fmt::format("{}: cannot be written: {}", target, std::strerror(errno)));
        }
        done += static_cast<size_t>(n);
      }
    }
    return OkStatus();
  }

  Status CheckBomb(uint64_t file_bytes, const std::string& path) const {
    const uint64_t bytes = std::max(unpacked_bytes_, file_bytes);
    if (bytes > limits_.max_bytes) {
      return Refused(path, fmt::format("brings it above {:.1f} GB unpacked",
                                       static_cast<double>(limits_.max_bytes) / 1e9));
    }
    const double ratio = static_cast<double>(bytes) / static_cast<double>(packed_bytes_ + 1);
    if (bytes > kRatioFromBytes && ratio > limits_.max_ratio) {
      return Refused(path, fmt::format("unpacks to more than {:.0f} times the archive's size (a "
                                       "bomb)",
                                       limits_.max_ratio));
    }
    return OkStatus();
  }

  const std::string archive_;
  const std::string folder_;
  const ArchiveLimits limits_;
  Reader reader_;
  uint64_t packed_bytes_ = 0;
  uint64_t unpacked_bytes_ = 0;
  std::set<std::string> seen_;
  std::vector<std::string> files_;
};

}  // namespace

bool IsArchiveName(const std::string& file_name) {
  const std::string name = Folded(file_name);
  for (const char* end : {".zip", ".tar", ".tar.gz", ".tgz"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

Result<std::vector<std::string>> UnpackArchive(const std::string& archive,
                                               const std::string& folder,
                                               const ArchiveLimits& limits) {
  const std::string part = folder + ".part";
  SG_RETURN_IF_ERROR(RemoveAll(part));
  Result<std::vector<std::string>> files = Unpacking(archive, part, limits).Run();
  Status placed = files.status();
  if (placed.ok()) placed = RemoveAll(folder);
  if (placed.ok()) placed = RenameFile(part, folder);
  if (placed.ok()) return files;
  const Status removed = RemoveAll(part);
  return placed.error();
}

}  // namespace sg

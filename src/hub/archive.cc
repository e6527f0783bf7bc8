#include "hub/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/interrupt.h"
#include "hub/archive_names.h"
#include "hub/archive_source.h"

namespace sg {
namespace {

/// From this size on a file's room on the disk is looked at before it is unpacked.
constexpr uint64_t kLargeFileBytes = uint64_t{16} << 20;
/// Where macOS's archivers put what is no file of the user's: a zip has a folder for it, a tar a
/// file with this before its name beside each file.
constexpr char kMacFolder[] = "__MACOSX";
constexpr char kMacInside[] = "__MACOSX/";
constexpr char kMacTwin[] = "._";

struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeReader>;

/// While it lives, this thread's names are UTF-8 whatever the user's locale is: libarchive converts
/// to that.
class Utf8Names {
 public:
  Utf8Names() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = uselocale(utf8_);
  }
  ~Utf8Names() {
    if (utf8_ == nullptr) return;
    uselocale(before_);
    freelocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t utf8_ = nullptr;
  locale_t before_ = nullptr;
};

bool IsOfMac(const std::string& path) {
  return path == kMacFolder || path.starts_with(kMacInside) || BaseName(path).starts_with(kMacTwin);
}

/// Some of libarchive's messages have a newline.
std::string OneLine(std::string text) {
  std::erase(text, '\n');
  return text;
}

class Unpacking {
 public:
  Unpacking(std::string archive, std::string folder, const ArchiveLimits& limits)
      : archive_(std::move(archive)), folder_(std::move(folder)), limits_(limits) {}

  Result<std::vector<std::string>> Run() {
    const Utf8Names utf8_names;
    SG_ASSIGN_OR_RETURN(source_, ArchiveSource::Open(archive_, limits_.max_ratio));
    // What is unpacked is hardly ever smaller than the archive.
    SG_RETURN_IF_ERROR(CheckWritable(folder_, source_->packed_bytes()));
    reader_.reset(archive_read_new());
    SG_CHECK(reader_ != nullptr);
    // Not the reader of zips that come as a stream: it takes one that is cut off for whole.
    archive_read_support_format_zip_seekable(reader_.get());
    archive_read_support_format_tar(reader_.get());
    if (source_->OpenReader(reader_.get()) != ARCHIVE_OK) return Damaged();
    while (true) {
      if (Interrupted()) return InterruptedError();
      archive_entry* entry = nullptr;
      source_->BeginHeader();
      const int code = archive_read_next_header(reader_.get(), &entry);
      source_->BeginData();
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return Damaged();
      ++entries_;
      SG_RETURN_IF_ERROR(Take(entry));
    }
    SG_RETURN_IF_ERROR(CheckWhole());
    if (files_.empty()) {
      return UserError(fmt::format("{}: has no file in it; give an archive of a model", archive_));
    }
    std::sort(files_.begin(), files_.end());
    return files_;
  }

 private:
  Error Refused(const std::string& name, const std::string& why) const {
    return UserError(fmt::format(
        "{}: its entry '{}' {}; nothing was unpacked, unpack it yourself if you trust it and give "
        "the folder",
        archive_, ShownName(name), why));
  }

  Error Damaged() const {
    if (!source_->status().ok()) return source_->status().error();
    const char* text = archive_error_string(reader_.get());
    const std::string why = text == nullptr ? "unreadable" : OneLine(text);
    const std::string at = current_.empty() ? "" : fmt::format(" at '{}'", ShownName(current_));
    if (why.starts_with("Unsupported ZIP compression")) return Unusual(why);
    if (source_->is_gzip() && entries_ == 0) {
      return UserError(
          fmt::format("{}: holds no tar, so it is one gzipped file or damaged ({}); gunzip it and "
                      "give the file",
                      archive_, why));
    }
    return UserError(
        fmt::format("{}: is damaged{}, cut off or no archive ({}); fetch it again, or unpack it "
                    "yourself and give the folder",
                    archive_, at, why));
  }

  Error Unusual(const std::string& why) const {
    return UserError(
        fmt::format("{}: its entry '{}' is compressed in a way that is not unpacked here ({}); "
                    "unpack it yourself and give the folder",
                    archive_, ShownName(current_), why));
  }

  /// That no entry was lost: libarchive ends without a word where a zip's directory is damaged, and
  /// where a tar stops between two entries.
  Status CheckWhole() {
    const bool is_zip = archive_format(reader_.get()) == ARCHIVE_FORMAT_ZIP;
    if (is_zip) {
      const std::optional<uint64_t> entries = source_->ZipEntries();
      if (!entries || *entries == entries_) return OkStatus();
      return UserError(
          fmt::format("{}: is damaged ({} of its {} entries are found); fetch it again", archive_,
                      entries_, *entries));
    }
    SG_RETURN_IF_ERROR(source_->Drain());
    if (source_->ends_with_zeros()) return OkStatus();
    return UserError(
        fmt::format("{}: is cut off (a tar ends with zeros); fetch it again", archive_));
  }

  Status Take(archive_entry* entry) {
    const char* raw = archive_entry_pathname(entry);
    const std::string name = raw == nullptr ? "" : raw;
    current_ = name;
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr ||
        archive_entry_filetype(entry) == AE_IFLNK) {
      return Refused(name, "is a link");
    }
    const std::string path = TrimmedName(name);
    const bool is_folder = archive_entry_filetype(entry) == AE_IFDIR;
    // More than every file with a folder of its own; names that come again cost time too.
    if (entries_ > 2 * limits_.max_files + 1) return TooMany("entries", 2 * limits_.max_files + 1);
    if (is_folder && (name == "." || name == "./")) return OkStatus();
    if (const std::string fault = NameFault(path); !fault.empty()) return Refused(name, fault);
    if (!is_folder && archive_entry_filetype(entry) != AE_IFREG) {
      return Refused(name, "is not a file");
    }
    if (IsOfMac(path)) return Skip();
    const std::string fault = is_folder ? names_.AddFolder(path) : names_.AddFile(path);
    if (!fault.empty()) return Refused(name, fault);
    if (names_.files() > limits_.max_files) return TooMany("files", limits_.max_files);
    if (names_.folders() > limits_.max_files) return TooMany("folders", limits_.max_files);
    if (is_folder) return MakeFolders(JoinPath(folder_, path));
    SG_RETURN_IF_ERROR(CheckFile(entry, path));
    files_.push_back(path);
    return WriteFile(entry, path);
  }

  Error TooMany(const std::string& what, uint64_t limit) const {
    return UserError(fmt::format("{}: has more than {} {}, so it is no model; nothing was unpacked",
                                 archive_, limit, what));
  }

  Status Skip() {
    const int code = archive_read_data_skip(reader_.get());
    if (code != ARCHIVE_OK && code != ARCHIVE_EOF) return Damaged();
    return OkStatus();
  }

  /// What the entry says of itself; CopyData() sees whether it is true.
  Status CheckFile(archive_entry* entry, const std::string& path) const {
    if (archive_entry_is_encrypted(entry) != 0) {
      return UserError(
          fmt::format("{}: its entry '{}' is encrypted; unpack it yourself and give the folder",
                      archive_, ShownName(path)));
    }
    // These may ask for gigabytes of memory before the first byte comes.
    const std::string format = archive_format_name(reader_.get());
    for (const char* method : {"(lzma", "(xz", "(ppmd"}) {
      if (format.find(method) != std::string::npos) return Unusual(format);
    }
    if (archive_entry_size_is_set(entry) == 0) return OkStatus();
    if (archive_entry_size(entry) < 0) return Refused(path, "has a size below zero");
    const auto bytes = static_cast<uint64_t>(archive_entry_size(entry));
    SG_RETURN_IF_ERROR(CheckBomb(bytes, path));
    const bool is_sparse = archive_entry_sparse_count(entry) > 0;
    if (bytes < kLargeFileBytes || is_sparse) return OkStatus();
    return CheckWritable(folder_, bytes);
  }

  Status WriteFile(archive_entry* entry, const std::string& path) {
    const std::string target = JoinPath(folder_, path);
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(target)));
    const int fd = open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return NotWritten(target);
    Result<uint64_t> written = CopyData(fd, target, path);
    Status status = written.status();
    if (status.ok()) status = Finish(fd, entry, *written);
    if (close(fd) != 0 && status.ok()) status = NotWritten(target);
    return status;
  }

  Error NotWritten(const std::string& target) const {
    return EnvironmentError(fmt::format(
        "{}: cannot be written while {} is unpacked: {}; free some space or choose another folder",
        target, archive_, std::strerror(errno)));
  }

  /// Returns where the last byte ended.
  Result<uint64_t> CopyData(int fd, const std::string& target, const std::string& path) {
    uint64_t end = 0;
    while (true) {
      if (Interrupted()) return InterruptedError();
      const void* bytes = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(reader_.get(), &bytes, &size, &offset);
      if (code == ARCHIVE_EOF) return end;
      if (code != ARCHIVE_OK || offset < 0) return Damaged();
      // A sparse file's holes cost nothing on the disk, and as much as bytes to who reads it.
      end = std::max(end, static_cast<uint64_t>(offset) + size);
      SG_RETURN_IF_ERROR(CheckBomb(end, path));
      for (size_t done = 0; done < size;) {
        const ssize_t n = pwrite(fd, static_cast<const char*>(bytes) + done, size - done,
                                 static_cast<off_t>(offset) + static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return NotWritten(target);
        done += static_cast<size_t>(n);
      }
    }
  }

  /// Gives a sparse file the hole at its end; any other has the size that it said.
  Status Finish(int fd, archive_entry* entry, uint64_t written) {
    uint64_t bytes = written;
    if (archive_entry_size_is_set(entry) != 0) {
      bytes = static_cast<uint64_t>(archive_entry_size(entry));
    }
    const bool is_sparse = archive_entry_sparse_count(entry) > 0;
    if (written > bytes || (written < bytes && !is_sparse)) {
      return UserError(fmt::format("{}: is damaged ('{}' has {} bytes, not {}); fetch it again",
                                   archive_, ShownName(current_), written, bytes));
    }
    if (written < bytes && ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
      return NotWritten(JoinPath(folder_, current_));
    }
    finished_bytes_ += bytes;
    return OkStatus();
  }

  /// With the file that is being written at `file_bytes`.
  Status CheckBomb(uint64_t file_bytes, const std::string& path) const {
    if (file_bytes > limits_.max_bytes - finished_bytes_) {
      return Refused(path, fmt::format("brings it above {:.1f} GB unpacked",
                                       static_cast<double>(limits_.max_bytes) / 1e9));
    }
    const uint64_t bytes = finished_bytes_ + file_bytes;
    const double ratio =
        static_cast<double>(bytes) / static_cast<double>(source_->packed_bytes() + 1);
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
  std::unique_ptr<ArchiveSource> source_;
  Reader reader_;                // after source_, which it reads from
  std::string current_;          ///< the entry's name, as the archive has it
  uint64_t entries_ = 0;         ///< of any kind
  uint64_t finished_bytes_ = 0;  ///< of the files before the current one; ≤ max_bytes
  ArchiveNames names_;
  std::vector<std::string> files_;
};

/// Where a target is kept while its successor takes its place.
std::string OldOf(const std::string& target) { return target + ".old"; }

/// After a kill in Replace(): the old folder comes back, or goes when the new one is there.
Status TidyOld(const std::string& target) {
  if (!FolderExists(OldOf(target))) return OkStatus();
  if (FolderExists(target)) return RemoveAll(OldOf(target));
  return RenameFile(OldOf(target), target);
}

/// Puts `part` in the target's place; at every moment the old folder or the new one is whole.
Status Replace(const std::string& part, const std::string& target) {
  if (FolderExists(target)) SG_RETURN_IF_ERROR(RenameFile(target, OldOf(target)));
  if (const Status placed = RenameFile(part, target); !placed.ok()) {
    const Status back = TidyOld(target);
    return placed.error();
  }
  return RemoveAll(OldOf(target));
}

}  // namespace

bool IsArchiveName(const std::string& file_name) {
  std::string name = file_name;
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const char* end : {".zip", ".tar", ".tar.gz", ".tgz"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

Result<std::vector<std::string>> UnpackArchive(const std::string& archive,
                                               const std::string& folder,
                                               const ArchiveLimits& limits) {
  const std::string target = folder.substr(0, folder.find_last_not_of('/') + 1);
  SG_CHECK(!target.empty());
  const std::string part = target + ".part";
  SG_RETURN_IF_ERROR(RemoveAll(part));
  SG_RETURN_IF_ERROR(TidyOld(target));
  Result<std::vector<std::string>> files = Unpacking(archive, part, limits).Run();
  Status placed = files.status();
  if (placed.ok()) placed = Replace(part, target);
  if (placed.ok()) return files;
  const Status removed = RemoveAll(part);
  return placed.error();
}

}  // namespace sg

#include "hub/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/files.h"

namespace sg {
namespace {

std::string PartPath(const std::string& path) { return path + ".part"; }
std::string StatePath(const std::string& path) { return path + ".part.state"; }

Error DiskError(const std::string& path, const char* what) {
  return EnvironmentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

std::string FirstLine(uint64_t size_bytes, const std::string& version) {
  return fmt::format("streamgauge-part 1 {} {}\n", size_bytes, Sha256(version));
}

}  // namespace

PartFile::PartFile(std::string path, uint64_t size_bytes)
    : path_(std::move(path)),
      size_bytes_(size_bytes),
      done_((size_bytes + kPieceBytes - 1) / kPieceBytes) {}

PartFile::~PartFile() {
  if (fd_ >= 0) close(fd_);
  if (state_fd_ >= 0) close(state_fd_);
}

Result<std::unique_ptr<PartFile>> PartFile::Open(const std::string& path, uint64_t size_bytes,
                                                 const std::string& version) {
  std::unique_ptr<PartFile> part(new PartFile(path, size_bytes));
  part->fd_ = open(PartPath(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (part->fd_ < 0) return DiskError(PartPath(path), "cannot be written");
  part->state_fd_ = open(StatePath(path).c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (part->state_fd_ < 0) return DiskError(StatePath(path), "cannot be written");
  SG_RETURN_IF_ERROR(part->ReadState(version));
  // Not every file system can reserve; then a full disk shows while writing.
  if (size_bytes > 0 && fallocate(part->fd_, 0, 0, static_cast<off_t>(size_bytes)) != 0 &&
      errno == ENOSPC) {
    const Error full = DiskError(
        path,
        fmt::format("needs {:.1f} MB on the disk", static_cast<double>(size_bytes) / 1e6).c_str());
    if (part->bytes_done_ == 0) Discard(path);
    return full;
  }
  if (ftruncate(part->fd_, static_cast<off_t>(size_bytes)) != 0) {
    return DiskError(PartPath(path), "cannot be written");
  }
  return part;
}

Result<std::unique_ptr<PartFile>> PartFile::OpenAnew(const std::string& path) {
  Discard(path);
  std::unique_ptr<PartFile> part(new PartFile(path, 0));
  part->fd_ = open(PartPath(path).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (part->fd_ < 0) return DiskError(PartPath(path), "cannot be written");
  return part;
}

Status PartFile::ReadState(const std::string& version) {
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(StatePath(path_)));
  const std::string first = FirstLine(size_bytes_, version);
  const off_t part_bytes = lseek(fd_, 0, SEEK_END);
  if (text.starts_with(first) && part_bytes == static_cast<off_t>(size_bytes_)) {
    size_t begin = first.size();
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      size_t piece = 0;
      const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, piece);
      if (error != std::errc() || stop != text.data() + end || piece >= done_.size()) break;
      if (done_[piece]) continue;
      done_[piece] = true;
      bytes_done_ += EndOf(piece) - piece * kPieceBytes;
    }
    if (begin == text.size()) return OkStatus();
    // A torn line would run into the next one.
    if (ftruncate(state_fd_, static_cast<off_t>(begin)) == 0) return OkStatus();
  }
  done_.assign(done_.size(), false);
  bytes_done_ = 0;
  if (ftruncate(fd_, 0) != 0 || ftruncate(state_fd_, 0) != 0 ||
      write(state_fd_, first.data(), first.size()) != static_cast<ssize_t>(first.size())) {
    return DiskError(StatePath(path_), "cannot be written");
  }
  return OkStatus();
}

uint64_t PartFile::Frontier() const {
  const auto gap = std::find(done_.begin(), done_.end(), false);
  return std::min<uint64_t>(static_cast<uint64_t>(gap - done_.begin()) * kPieceBytes, size_bytes_);
}

uint64_t PartFile::EndOf(size_t piece) const {
  return std::min<uint64_t>((piece + 1) * kPieceBytes, size_bytes_);
}

Status PartFile::Write(uint64_t offset, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = pwrite(fd_, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return DiskError(PartPath(path_), "cannot be written");
    bytes += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<size_t>(written);
  }
  return OkStatus();
}

Status PartFile::Append(const char* bytes, size_t size) {
  SG_CHECK(state_fd_ < 0);
  SG_RETURN_IF_ERROR(Write(size_bytes_, bytes, size));
  size_bytes_ += size;
  bytes_done_ = size_bytes_;
  return OkStatus();
}

Status PartFile::MarkDone(size_t piece) {
  SG_CHECK(!done_[piece]);
  const std::string line = fmt::format("{}\n", piece);
  if (write(state_fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return DiskError(StatePath(path_), "cannot be written");
  }
  done_[piece] = true;
  bytes_done_ += EndOf(piece) - piece * kPieceBytes;
  return OkStatus();
}

Status PartFile::Finish() {
  SG_CHECK(IsWhole());
  if (fsync(fd_) != 0) return DiskError(PartPath(path_), "cannot be written");
  SG_RETURN_IF_ERROR(RenameFile(PartPath(path_), path_));
  return RemoveAll(StatePath(path_));
}

void PartFile::Discard(const std::string& path) {
  unlink(PartPath(path).c_str());
  unlink(StatePath(path).c_str());
}

}  // namespace sg

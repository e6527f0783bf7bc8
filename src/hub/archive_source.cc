#include "hub/archive_source.h"

#include <archive.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/interrupt.h"

namespace sg {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

// APPNOTE.TXT of PKWARE, 4.3.14 to 4.3.16: sizes of the records at a zip's end.
constexpr size_t kEndBytes = 22;
constexpr size_t kMaxCommentBytes = 65535;
constexpr size_t kEnd64LocatorBytes = 20;
constexpr size_t kEnd64Bytes = 56;

uint64_t LittleEndian(const std::string& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

Result<std::unique_ptr<ArchiveSource>> ArchiveSource::Open(const std::string& path,
                                                           double max_ratio) {
  std::unique_ptr<ArchiveSource> source(new ArchiveSource(path, max_ratio));
  // O_NONBLOCK: a named pipe must not hang us before fstat() tells what it is.
  source->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (source->fd_ < 0) {
    const std::string why = std::strerror(errno);
    if (errno == ENOENT || errno == ENOTDIR) return UserError(path + ": no such file");
    return EnvironmentError(fmt::format("{}: cannot be read: {}", path, why));
  }
  struct stat info {};
  if (fstat(source->fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    return UserError(fmt::format("{}: is not a regular file; give an archive", path));
  }
  source->packed_bytes_ = static_cast<uint64_t>(info.st_size);
  source->block_.resize(kBlockBytes);
  unsigned char magic[2] = {};
  if (pread(source->fd_, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
    source->gzip_ = gzdopen(source->fd_, "rb");
    SG_CHECK(source->gzip_ != nullptr);
    source->fd_ = -1;
    gzbuffer(source->gzip_, kBlockBytes);
  }
  return source;
}

ArchiveSource::~ArchiveSource() {
  if (gzip_ != nullptr) gzclose_r(gzip_);
  if (fd_ >= 0) close(fd_);
}

int ArchiveSource::OpenReader(archive* reader) {
  archive_read_set_callback_data(reader, this);
  archive_read_set_read_callback(
      reader, [](archive* of, void* self, const void** bytes) -> la_ssize_t {
        const int64_t size = Of(self).Read();
        if (size < 0) archive_set_error(of, EIO, "%s", Of(self).status_.error().message.c_str());
        *bytes = Of(self).block_.data();
        return size;
      });
  if (!is_gzip()) {
    archive_read_set_seek_callback(
        reader, [](archive*, void* self, la_int64_t offset, int whence) -> la_int64_t {
          ArchiveSource& source = Of(self);
          const int64_t base = whence == SEEK_SET   ? 0
                               : whence == SEEK_CUR ? static_cast<int64_t>(source.position_)
                                                    : static_cast<int64_t>(source.packed_bytes_);
          int64_t to = 0;
          if (__builtin_add_overflow(base, offset, &to) || to < 0) return ARCHIVE_FATAL;
          source.position_ = static_cast<uint64_t>(to);
          return to;
        });
  }
  return archive_read_open1(reader);
}

int64_t ArchiveSource::Fail(Error error) {
  status_ = std::move(error);
  return -1;
}

int64_t ArchiveSource::ReadSome() {
  if (is_gzip()) {
    const int size = gzread(gzip_, block_.data(), static_cast<unsigned>(block_.size()));
    int code = Z_OK;
    const std::string text = gzerror(gzip_, &code);
    const std::string why = text.substr(
        text.rfind(": ") == std::string::npos ? 0 : text.rfind(": ") + 2);  // "<fd:3>: why"
    // A cut-off file is told only beside the last bytes, which are given all the same.
    if (size < 0 || code == Z_BUF_ERROR) {
      if (code == Z_ERRNO) {
        return Fail(
            EnvironmentError(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno))));
      }
      return Fail(UserError(fmt::format("{}: is damaged or cut off (gzip: {}); fetch it again",
                                        path_, code == Z_BUF_ERROR ? "unexpected end" : why)));
    }
    return size;
  }
  while (true) {
    const ssize_t size = pread(fd_, block_.data(), block_.size(), static_cast<off_t>(position_));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      return Fail(
          EnvironmentError(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno))));
    }
    position_ += static_cast<uint64_t>(size);
    return size;
  }
}

int64_t ArchiveSource::Read() {
  if (!status_.ok()) return -1;
  if (Interrupted()) return Fail(InterruptedError());
  const int64_t size = ReadSome();
  if (size <= 0) return size;
  const auto bytes = static_cast<uint64_t>(size);
  if (header_budget_ != UINT64_MAX) {
    if (bytes > header_budget_) {
      return Fail(UserError(
          fmt::format("{}: its list of names or one of its headers is larger than {} MiB, so it is "
                      "no model (a bomb); nothing was unpacked",
                      path_, kHeaderBytes >> 20)));
    }
    header_budget_ -= bytes;
  }
  uint64_t zeros = 0;
  while (zeros < bytes && block_[bytes - 1 - zeros] == 0) ++zeros;
  tail_zeros_ = zeros == bytes ? tail_zeros_ + zeros : zeros;
  unpacked_bytes_ += bytes;
  const double ratio =
      static_cast<double>(unpacked_bytes_) / static_cast<double>(packed_bytes_ + 1);
  if (is_gzip() && unpacked_bytes_ > kRatioFromBytes && ratio > max_ratio_) {
    return Fail(
        UserError(fmt::format("{}: unpacks to more than {:.0f} times its size (a bomb); "
                              "nothing was unpacked",
                              path_, max_ratio_)));
  }
  return size;
}

std::string ArchiveSource::At(uint64_t offset, size_t size) const {
  std::string bytes(size, '\0');
  const ssize_t n =
      offset > packed_bytes_ ? 0 : pread(fd_, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return bytes;
}

std::optional<uint64_t> ArchiveSource::ZipEntries() const {
  if (is_gzip()) return std::nullopt;
  const uint64_t begin =
      packed_bytes_ - std::min<uint64_t>(packed_bytes_, kEndBytes + kMaxCommentBytes);
  const std::string tail = At(begin, kEndBytes + kMaxCommentBytes);
  const size_t end = tail.rfind("PK\x05\x06");
  if (end == std::string::npos || tail.size() - end < kEndBytes) return std::nullopt;
  const uint64_t entries = LittleEndian(tail, end + 10, 2);
  if (entries != 0xFFFF || end < kEnd64LocatorBytes) return entries;
  const size_t locator = end - kEnd64LocatorBytes;
  if (tail.compare(locator, 4, "PK\x06\x07") != 0) return entries;
  const std::string end64 = At(LittleEndian(tail, locator + 8, 8), kEnd64Bytes);
  if (end64.size() < kEnd64Bytes || !end64.starts_with("PK\x06\x06")) return std::nullopt;
  return LittleEndian(end64, 32, 8);
}

Status ArchiveSource::Drain() {
  BeginData();
  while (Read() > 0) {
  }
  return status_;
}

}  // namespace sg

// The bytes of an archive as libarchive reads them: a plain file's, or what a gzip file holds.
// libarchive does not look at gzip's checksums; this does.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

struct archive;

namespace sg {

/// Bombs show from this many unpacked bytes on; a small archive of zeros is none.
inline constexpr uint64_t kRatioFromBytes = uint64_t{100} << 20;

/// One reader's input. Memory is bounded: one block, and what BeginHeader() allows. One thread.
class ArchiveSource {
 public:
  /// kUser when `path` is no regular file, kEnvironment when it cannot be read. What a gzip file
  /// holds may be `max_ratio` times its size, looked at from kRatioFromBytes on.
  static Result<std::unique_ptr<ArchiveSource>> Open(const std::string& path, double max_ratio);
  ~ArchiveSource();
  ArchiveSource(const ArchiveSource&) = delete;
  ArchiveSource& operator=(const ArchiveSource&) = delete;

  bool is_gzip() const { return gzip_ != nullptr; }
  uint64_t packed_bytes() const { return packed_bytes_; }

  /// Opens `reader` on the bytes; returns libarchive's code. `reader` must not outlive this.
  int OpenReader(archive* reader);

  /// Call before libarchive looks for the next entry: it may read 16 MiB for that (it keeps what it
  /// reads of a zip's directory or a tar's long names), until BeginData().
  void BeginHeader() { header_budget_ = kHeaderBytes; }
  void BeginData() { header_budget_ = UINT64_MAX; }

  /// Why a read failed; ok while none did.
  const Status& status() const { return status_; }

  /// How many entries a zip says it has, from the record at its end; nothing when there is none.
  std::optional<uint64_t> ZipEntries() const;

  /// Reads on to the end, so that gzip's checksum is looked at. kUser when the bytes are damaged.
  Status Drain();
  /// After Drain(): whether the last 512 bytes are zeros, as those of a whole tar are.
  bool ends_with_zeros() const { return tail_zeros_ >= 512; }

 private:
  static constexpr uint64_t kHeaderBytes = uint64_t{16} << 20;

  ArchiveSource(std::string path, double max_ratio)
      : path_(std::move(path)), max_ratio_(max_ratio) {}
  static ArchiveSource& Of(void* self) { return *static_cast<ArchiveSource*>(self); }
  /// The next block into block_; its size, 0 at the end, -1 with status_ set.
  int64_t Read();
  /// The next bytes of the file, or of what gzip holds; as Read().
  int64_t ReadSome();
  int64_t Fail(Error error);
  /// Up to `size` bytes of a plain file at `offset`; fewer at the end or on failure.
  std::string At(uint64_t offset, size_t size) const;

  const std::string path_;
  const double max_ratio_;
  int fd_ = -1;  ///< a plain file's; -1 when gzip_ owns it
  gzFile gzip_ = nullptr;
  uint64_t packed_bytes_ = 0;
  uint64_t position_ = 0;  ///< in the plain file
  uint64_t unpacked_bytes_ = 0;
  uint64_t tail_zeros_ = 0;
  uint64_t header_budget_ = UINT64_MAX;
  std::vector<char> block_;
  Status status_;
};

}  // namespace sg

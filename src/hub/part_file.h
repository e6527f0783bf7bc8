// A file while it grows in pieces: what is there survives a kill.
//
// PATH.part has the bytes, each piece in its place. PATH.part.state is text: a line that says which
// version of the file this is, then one line with the number of each finished piece, appended after
// its bytes were written. A torn last line is a piece that is fetched again; anything else that
// does not fit starts the file anew.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

class PartFile {
 public:
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

  /// Opens or makes the files beside `path`. `version` changes when the bytes would (ETag, hash):
  /// pieces of another version or size are dropped. Reserves `size_bytes` on the disk; kEnvironment
  /// when there is no room or the folder cannot be written.
  static Result<std::unique_ptr<PartFile>> Open(const std::string& path, uint64_t size_bytes,
                                                const std::string& version);
  /// Makes an empty PATH.part, which Append() lets grow: for a file of unknown size that comes in
  /// one go. What was there is dropped; a kill leaves nothing to go on with.
  static Result<std::unique_ptr<PartFile>> OpenAnew(const std::string& path);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  uint64_t size_bytes() const { return size_bytes_; }
  size_t pieces() const { return done_.size(); }
  bool IsDone(size_t piece) const { return done_[piece]; }
  bool IsWhole() const { return bytes_done_ == size_bytes_; }
  uint64_t bytes_done() const { return bytes_done_; }
  /// Bytes from the start on without a gap.
  uint64_t Frontier() const;
  /// One past the piece's last byte.
  uint64_t EndOf(size_t piece) const;

  /// kEnvironment when the disk is full.
  Status Write(uint64_t offset, const char* bytes, size_t size);
  Status MarkDone(size_t piece);
  /// REQUIRES: OpenAnew() made it.
  Status Append(const char* bytes, size_t size);

  int descriptor() const { return fd_; }

  /// Syncs and gives the file its name; the state goes. REQUIRES: IsWhole().
  Status Finish();

  /// Deletes what Open made.
  static void Discard(const std::string& path);

 private:
  PartFile(std::string path, uint64_t size_bytes);
  Status ReadState(const std::string& version);

  const std::string path_;
  uint64_t size_bytes_;
  int fd_ = -1;
  int state_fd_ = -1;
  std::vector<bool> done_;
  uint64_t bytes_done_ = 0;
};

}  // namespace sg

// Hashes a file while it is written, on a thread of its own, so that the last byte's arrival is
// nearly the hash's end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace sg {

enum class HashKind { kSha256, kSha1 };

class HashFollower {
 public:
  /// `descriptor` stays open until Finish() or the destructor; `prefix` is hashed before the file.
  HashFollower(HashKind kind, int descriptor, std::string_view prefix);
  ~HashFollower();
  HashFollower(const HashFollower&) = delete;
  HashFollower& operator=(const HashFollower&) = delete;

  /// The file's first `bytes` bytes will not change any more.
  void Advance(uint64_t bytes);

  /// Lower-case hex of the prefix and the first bytes that Advance() named last; empty when the
  /// file could not be read. Call once.
  std::string Finish();

 private:
  void Run();

  const int descriptor_;
  evp_md_ctx_st* const context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t frontier_ = 0;  ///< guarded by mutex_
  bool last_ = false;      ///< guarded by mutex_
  bool failed_ = false;    ///< the thread's, read after it ended
  std::thread thread_;
};

}  // namespace sg

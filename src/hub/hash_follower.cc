#include "hub/hash_follower.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/status.h"

namespace sg {
namespace {
constexpr size_t kBlockBytes = size_t{1} << 20;
}

HashFollower::HashFollower(HashKind kind, int descriptor, std::string_view prefix)
    : descriptor_(descriptor), context_(EVP_MD_CTX_new()) {
  SG_CHECK(context_ != nullptr);
  SG_CHECK(EVP_DigestInit_ex(context_, kind == HashKind::kSha256 ? EVP_sha256() : EVP_sha1(),
                             nullptr) == 1);
  EVP_DigestUpdate(context_, prefix.data(), prefix.size());
  thread_ = std::thread([this] { Run(); });
}

HashFollower::~HashFollower() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      frontier_ = 0;
      last_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  EVP_MD_CTX_free(context_);
}

void HashFollower::Advance(uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    frontier_ = bytes;
  }
  changed_.notify_one();
}

std::string HashFollower::Finish() {
  {
    const std::lock_guard lock(mutex_);
    last_ = true;
  }
  changed_.notify_one();
  thread_.join();
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (failed_ || EVP_DigestFinal_ex(context_, digest, &length) != 1) return "";
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

void HashFollower::Run() {
  std::vector<char> block(kBlockBytes);
  uint64_t position = 0;
  while (true) {
    uint64_t frontier = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return last_ || frontier_ > position; });
      frontier = frontier_;
      if (last_ && frontier <= position) return;
    }
    while (position < frontier) {
      const size_t want = std::min<uint64_t>(kBlockBytes, frontier - position);
      const ssize_t got = pread(descriptor_, block.data(), want, static_cast<off_t>(position));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        failed_ = true;
        return;
      }
      EVP_DigestUpdate(context_, block.data(), static_cast<size_t>(got));
      position += static_cast<uint64_t>(got);
    }
  }
}

}  // namespace sg

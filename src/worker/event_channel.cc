#include "worker/event_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sg {

EventChannel::EventChannel() : fd_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

void EventChannel::Send(const Json& event) {
  const std::string line = ToJsonLine(event) + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(fd_, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

Result<std::string> ReadStandardInput() {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  std::string text;
  std::array<char, 65536> block;
  while (true) {
    const ssize_t n = read(STDIN_FILENO, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return InternalError(std::string("stdin cannot be read: ") + std::strerror(errno));
    if (n == 0) return text;
    text.append(block.data(), static_cast<size_t>(n));
    if (text.size() > kMaxBytes) return InternalError("the request on stdin is larger than 64 MiB");
  }
}

}  // namespace sg

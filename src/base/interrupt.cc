#include "base/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/status.h"

namespace sg {
namespace {

std::atomic<int> g_interrupts{0};
int g_pipe[2] = {-1, -1};

void OnSignal(int) {
  if (g_interrupts.fetch_add(1) > 0) _exit(static_cast<int>(ErrorKind::kInterrupted));
  const char byte = 0;
  [[maybe_unused]] const ssize_t n = write(g_pipe[1], &byte, 1);
}

}  // namespace

void InstallInterruptHandler() {
  SG_CHECK(pipe2(g_pipe, O_CLOEXEC | O_NONBLOCK) == 0);
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool Interrupted() { return g_interrupts.load() > 0; }

int InterruptDescriptor() { return g_pipe[0]; }

}  // namespace sg

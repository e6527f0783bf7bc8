// The worker's two ends of its pipe to the command line.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"

namespace sg {

/// Keeps the process's stdout for events and points stdout at stderr, so that nothing a plugin
/// prints can get between them.
class EventChannel {
 public:
  EventChannel();
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  /// Writes one line. A reader that has gone is not an error: the job's files still matter.
  void Send(const Json& event);

 private:
  int fd_;
};

/// All of stdin, at most 64 MiB.
Result<std::string> ReadStandardInput();

}  // namespace sg

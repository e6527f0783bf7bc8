// Ctrl-C. The first one asks the running step to clean up and keep what was measured; the second
// ends the process at once.
#pragma once

namespace sg {

/// Handles SIGINT and SIGTERM from now on. Call once, from main, before any thread starts.
void InstallInterruptHandler();

/// True from the first SIGINT or SIGTERM on. Any thread.
bool Interrupted();

/// Readable from the first SIGINT or SIGTERM on; for poll(). -1 before InstallInterruptHandler().
int InterruptDescriptor();

}  // namespace sg

// Diagnostics on stderr through spdlog. What the user is told of the work itself is printed by the
// commands; this is for -v and for warnings.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace sg {

/// Sends the log to stderr; verbose shows debug lines, else warnings and worse.
void SetUpLog(bool verbose);

/// `text` with passwords in URLs (user:password@, passphrase=, token=) replaced by ***.
std::string MaskSecrets(const std::string& text);

}  // namespace sg

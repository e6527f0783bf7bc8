#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <string_view>

namespace sg {
namespace {

/// Where "://user:password" that starts at `begin` ends, at its "@"; `begin` when none starts
/// there.
size_t EndOfUserInfo(const std::string& text, size_t begin) {
  constexpr std::string_view kScheme = "://";
  if (text.compare(begin, kScheme.size(), kScheme) != 0) return begin;
  const size_t stop = text.find_first_of("/ \t\n\"'", begin + kScheme.size());
  const size_t at = text.substr(0, stop).rfind('@');
  return at == std::string::npos || at < begin + kScheme.size() ? begin : at;
}

/// Where the value of the "token=" (or another secret's name) that starts at `begin` starts;
/// `begin` when none does.
size_t StartOfSecretValue(const std::string& text, size_t begin) {
  constexpr std::string_view kNames[] = {
      "passphrase=", "password=", "passwd=", "pwd=", "token=", "key="};
  for (const std::string_view name : kNames) {
    if (text.size() - begin <= name.size()) continue;
    const bool same = std::equal(
        name.begin(), name.end(), text.begin() + static_cast<long>(begin),
        [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b); });
    if (same) return begin + name.size();
  }
  return begin;
}

}  // namespace

void SetUpLog(bool verbose) {
  auto logger = std::make_shared<spdlog::logger>("streamgauge",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %l: %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  spdlog::set_default_logger(logger);
}

std::string MaskSecrets(const std::string& text) {
  std::string masked;
  for (size_t i = 0; i < text.size();) {
    if (const size_t user_end = EndOfUserInfo(text, i); user_end > i) {
      masked += "://***";
      i = user_end;
    } else if (const size_t value = StartOfSecretValue(text, i); value > i) {
      masked += text.substr(i, value - i) + "***";
      i = std::min(text.size(), text.find_first_of("& \t\n\"'", value));
    } else {
      masked += text[i++];
    }
  }
  return masked;
}

}  // namespace sg

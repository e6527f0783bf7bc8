#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <regex>

namespace sg {

void SetUpLog(bool verbose) {
  auto logger = std::make_shared<spdlog::logger>("streamgauge",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %l: %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  spdlog::set_default_logger(logger);
}

std::string MaskSecrets(const std::string& text) {
  static const std::regex user_info("([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@\\s\"']*@");
  static const std::regex query("((?:passphrase|password|passwd|pwd|token|key)=)[^&\\s\"']+",
                                std::regex::icase);
  return std::regex_replace(std::regex_replace(text, user_info, "$1***@"), query, "$1***");
}

}  // namespace sg

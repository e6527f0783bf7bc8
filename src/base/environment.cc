#include "base/environment.h"

#include <cstdlib>

#include "base/files.h"

namespace sg {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string FirstEnvironment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = Environment(name); !value.empty()) return value;
  }
  return "";
}

std::string UserCacheFolder() {
  const std::string cache = Environment("XDG_CACHE_HOME");
  return JoinPath(cache.empty() ? JoinPath(Environment("HOME"), ".cache") : cache, "streamgauge");
}

}  // namespace sg

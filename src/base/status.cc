#include "base/status.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace sg {
namespace {

struct KindName {
  ErrorKind kind;
  const char* name;
};
constexpr std::array<KindName, 6> kKindNames = {{{ErrorKind::kGate, "gate"},
                                                 {ErrorKind::kUser, "user"},
                                                 {ErrorKind::kEnvironment, "environment"},
                                                 {ErrorKind::kUnsupported, "unsupported"},
                                                 {ErrorKind::kInternal, "internal"},
                                                 {ErrorKind::kInterrupted, "interrupted"}}};

}  // namespace

const char* ErrorKindName(ErrorKind kind) {
  for (const KindName& entry : kKindNames)
    if (entry.kind == kind) return entry.name;
  return "internal";
}

ErrorKind ErrorKindFromName(const std::string& name) {
  for (const KindName& entry : kKindNames)
    if (entry.name == name) return entry.kind;
  return ErrorKind::kInternal;
}

namespace internal {
void CheckFailed(const char* file, int line, const char* expression, const std::string& operands) {
  std::fprintf(stderr, "%s:%d: check failed: %s %s\n", file, line, expression, operands.c_str());
  std::abort();
}
}  // namespace internal
}  // namespace sg

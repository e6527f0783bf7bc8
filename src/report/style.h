// The report's style sheet.
#pragma once

namespace sg::report {
extern const char kStyle[];
}  // namespace sg::report

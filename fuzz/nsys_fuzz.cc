// Any text as the output of nsys stats.
#include <string_view>

#include "trace/nsys_export.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tables = sg::trace::ParseNsysStats(text, "input");
  if (tables.ok()) sg::trace::RangeFamilies(tables->ranges);
  return 0;
}

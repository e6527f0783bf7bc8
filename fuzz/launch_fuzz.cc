// Any text as a launch string: places stay inside of it.
#include <cstdlib>
#include <string_view>

#include "pipeline/launch_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = sg::ParseLaunch(text, "input");
  if (!graph.ok()) return 0;
  for (const auto& element : graph->elements) {
    for (const auto& property : element.properties)
      if (property.value_place.end > size) std::abort();
  }
  static_cast<void>(sg::PrintLaunch(*graph).ok());
  return 0;
}

// The part of a shell's line that gst-launch-1.0 sees as its pipeline.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sg {

/// A launch string and, for each of its bytes and for its end, the place in the text it comes from.
struct LaunchText {
  std::string text;
  std::vector<size_t> origin;
};

/// The words behind `gst-launch-1.0` and its options, joined as gst-launch joins its arguments
/// (blanks inside a word are escaped). Without that command in front, `line` itself with its line
/// continuations blanked. An operator that ends the command (`|`, `>`, `&&`, a `;` that ends a
/// word) ends the pipeline.
LaunchText ReadShellLine(std::string_view line);

}  // namespace sg

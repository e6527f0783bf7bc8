// gst-launch strings as a Graph.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "pipeline/graph.h"

namespace sg {

/// Reads a launch string by GStreamer's own grammar; `path` names it in places and errors (empty:
/// the command line). A leading `gst-launch-1.0 -e …`, with variables before it or not, makes it a
/// shell's line: quotes and escapes are then the shell's, and the words mean what gst-launch makes
/// of them. Line continuations are white space. Places are bytes of `text` in both cases. Errors
/// are kUser with line and column. Linear in the length.
Result<Graph> ParseLaunch(std::string_view text, const std::string& path);

/// The graph as a launch string that ParseLaunch reads as the same graph. kUnsupported when links
/// cannot be written in their order because an element that needs one has no name.
Result<std::string> PrintLaunch(const Graph& graph);

}  // namespace sg

// Where to measure a pipeline that somebody else wrote: its mux, its sink, how many sources.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "pipeline/gst/gst_error.h"

namespace sg {

/// The element named "mux", else the first sgmux; null when there is none.
GstOwned<GstElement> FindMux(GstBin* pipeline);

/// The element of that name; for an empty one the only sink. kUser when there is none, or several
/// to choose from, with their names.
Result<GstOwned<GstElement>> FindTap(GstBin* pipeline, const std::string& name);

/// How many sources feed the mux: its sink pads, and those that `launch` names and that are linked
/// only when a decoder has found its pads. 1 without a mux.
int CountSources(GstElement* mux, const std::string& launch);

/// Sinks that wait for the clock (sync=true), sorted.
std::vector<std::string> ClockPacedSinks(GstBin* pipeline);

}  // namespace sg

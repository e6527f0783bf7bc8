// Pictures of a trace: which elements hold their threads, and how full the queues were.
#pragma once

#include <string>
#include <vector>

#include "report/line_charts.h"
#include "trace/trace_reader.h"
#include "trace/trace_views.h"

namespace sg {

/// Their files are STEM_elements.svg and, where something stores buffers, STEM_queues.svg.
std::vector<LineChart> TraceCharts(const trace::TraceFile& file, const trace::TraceSummary& summary,
                                   const std::string& stem);

}  // namespace sg

// The file that the injected library writes, and each thread's end of it. The library may be asked
// for by CUDA, by any number of copies of NVTX's headers, or by both: they share this.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/trace_writer.h"

namespace sg::trace::collector {

/// nullptr when the file could not be opened (said once on stderr): then nothing is recorded. The
/// file is SGCOLLECT_FILE, by default sgcollect-%p.sgtrace, of at most SGCOLLECT_MAX_MIB.
TraceWriter* Writer();

/// What the calling thread records into; nullptr without a file, and while the thread ends.
ThreadTrace* Thread();

/// The number of a name, which is written when it is new. Lives as long as the process. Names that
/// differ from call to call are kept too, up to a million; the rest share one.
uint32_t NameId(std::string_view name);

/// A line for whoever reads the trace.
void Note(const std::string& text);

}  // namespace sg::trace::collector

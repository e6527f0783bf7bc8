// Ranges, kernels, copies and calls of a profile as sums: the tables of the profile's GPU stage,
// from nsys or from our collector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace sg::trace {

struct TimeRow {
  std::string name;
  std::string domain;  ///< of ranges; else empty
  uint64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;

  void Add(int64_t ns);
  double mean_ns() const {
    return count == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(count);
  }
};

struct CopyRow {
  TimeRow time;  ///< name: "Host-to-Device", …
  uint64_t bytes = 0;
  uint64_t max_bytes = 0;
};

struct ProfileTables {
  std::string source;            ///< "nsys export, schema 2.15.3", …
  std::vector<TimeRow> kernels;  ///< each table: most time first
  std::vector<CopyRow> copies;
  std::vector<TimeRow> fills;
  std::vector<TimeRow> syncs;      ///< waiting for a stream, an event or a context; the collector's
  std::vector<TimeRow> api;        ///< CUDA calls on the CPU
  std::vector<TimeRow> os;         ///< operating system's calls
  std::vector<TimeRow> ranges;     ///< NVTX, names as they were
  double gpu_busy_ns = 0;          ///< some kernel, copy or fill ran on a GPU; mean over the GPUs
  uint64_t memory_peak_bytes = 0;  ///< most that was allocated on GPUs at a time; 0: not recorded
  double duration_ns = 0;          ///< from the first to the last event
  int gpus = 0;
  /// What is not in the file and why, in words: an absent table is not a zero.
  std::vector<std::string> absent;
};

/// A range's name without what changes from call to call: Frame=, Batch=, batch_num=, UID=N and
/// trailing numbers of that kind become "Frame=N", ….
std::string NormalizedRangeName(const std::string& name);

/// The ranges summed by normalised name.
std::vector<TimeRow> RangeFamilies(const std::vector<TimeRow>& ranges);

/// What of `api` waits for the GPU (…Synchronize, …StreamWait…).
std::vector<TimeRow> SynchronizingCalls(const std::vector<TimeRow>& api);

/// [begin, end) times of one GPU.
using BusySpans = std::vector<std::pair<int64_t, int64_t>>;
/// The length of the union; sorts the spans.
int64_t UnionNs(BusySpans* spans);

void SortByTotal(std::vector<TimeRow>* rows);

/// The collector's records in a trace of ours.
ProfileTables TablesOfTrace(const TraceFile& trace);

}  // namespace sg::trace

// The branches that feed the mux, one per source: counts what they deliver, starts them again at
// their end, and ends them at a frame limit.
//
// Starting again: EOS is dropped on the pad that feeds the mux, and a flushing seek to the start is
// sent up the branch from a thread of GStreamer's pool (a seek from the streaming thread itself
// would wait for that thread). The flush and the segment it causes are dropped on the same pad, so
// the mux sees one endless source. EOS comes after the last frame in the pad's order, so the flush
// finds nothing to discard: no frame is lost or repeated.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/run_job.h"

namespace sg {

struct BranchOptions {
  bool loop = false;
  uint64_t max_frames = 0;  ///< 0: no limit
  PaceOptions pace;         ///< frames wait until they are due (pipeline/gst/pacer.h)
};

class Pacer;

class SourceBranches {
 public:
  SourceBranches(int streams, BranchOptions options);
  ~SourceBranches();

  /// Hooks the pads that feed the sink pads of `mux`, also those that appear later.
  void Attach(GstElement* mux);

  /// From now on nothing is started again or held back. Call before the pipeline is stopped.
  void BeginStop();

  /// Any thread. Frames that the branch has delivered.
  uint64_t frames(int stream) const;
  bool ended(int stream) const;
  bool ended_by_limit(int stream) const;
  uint64_t loops(int stream) const;
  /// Why the branch could not be started again; empty while all is well.
  std::string failure(int stream) const;

 private:
  struct Branch;
  static void OnPadAdded(GstElement* mux, GstPad* pad, gpointer self);
  static void OnPadLinked(GstPad* sink, GstPad* peer, gpointer self);
  static GstPadProbeReturn OnProbe(GstPad* pad, GstPadProbeInfo* info, gpointer branch);
  static GstPadProbeReturn OnUnit(GstPad* decoder_sink, GstPadProbeInfo* info, gpointer branch);
  static GstPadProbeReturn Pace(GstPad* pad, GstPadProbeInfo* info,
                                const std::shared_ptr<Branch>& branch);
  static void Restart(GstElement* element, gpointer branch);
  void AttachPad(GstPad* mux_sink_pad);
  void AttachPeer(GstPad* mux_sink_pad, GstPad* peer);

  /// Shared with the probes and with restarts in flight, which may outlive this object.
  std::vector<std::shared_ptr<Branch>> branches_;
  std::shared_ptr<Pacer> pacer_;  ///< null without a pace; shared as the branches are
  GstElement* mux_ = nullptr;
  gulong pad_added_handler_ = 0;
};

}  // namespace sg

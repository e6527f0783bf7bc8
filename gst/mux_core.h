// How frames of several sources become batches, without GStreamer.
//
// Frames wait in a short queue per source. A batch takes them round-robin, at most
// max(1, batch size ÷ sources) of each source, and is complete when it is full or when every active
// source gave its share. A source is active until it has ended, and while it is not stalled: one
// that kept a started batch waiting for `stall_ns` is left out until it delivers again. Incomplete
// batches go when `push_timeout_ns` has passed since their first frame was taken.
//
// Not thread-safe: the element calls it under its lock. Times are of one monotonic clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace sg {

/// What the element queues; the core only moves it.
struct MuxFrame {
  virtual ~MuxFrame() = default;
  unsigned source_id = 0;
  std::optional<uint64_t> running_time_ns;
};

struct MuxSettings {
  unsigned batch_size = 1;
  std::optional<uint64_t> push_timeout_ns =
      std::nullopt;          ///< nullopt: wait for every active source
  bool sync_inputs = false;  ///< only frames of about the same running time in a batch
  uint64_t stall_ns = 5'000'000'000;
  size_t queue_frames = 4;  ///< per source
};

/// What the element is to do next.
struct MuxStep {
  enum class Kind {
    kWait,           ///< until something changes or `wake_at_ns`
    kPushBatch,      ///< `frames`
    kSourceEnded,    ///< tell downstream that `source_id` ended; its last frame was pushed
    kSourceStalled,  ///< warn that `source_id` is left out
    kAllEnded,       ///< end of stream; said once
  };
  Kind kind = Kind::kWait;
  std::optional<uint64_t> wake_at_ns;
  unsigned source_id = 0;
  std::vector<std::unique_ptr<MuxFrame>> frames;  ///< ordered by source, then by arrival
};

class BatchFormer {
 public:
  void Configure(const MuxSettings& settings) { settings_ = settings; }

  void AddSource(unsigned source_id);
  /// Drops its queued frames; those already in the batch still go, then kSourceEnded.
  void RemoveSource(unsigned source_id);
  /// The source's frames are this far apart, for sync_inputs; 0: unknown.
  void SetFrameDuration(unsigned source_id, uint64_t duration_ns);

  bool HasRoom(unsigned source_id) const;
  /// Takes a frame of frame->source_id, which exists.
  void Push(std::unique_ptr<MuxFrame> frame, uint64_t now_ns);
  /// The source ends after the frames it has queued.
  void EndSource(unsigned source_id);
  /// Drops the source's frames, also from the batch being formed; it may deliver again.
  void FlushSource(unsigned source_id);
  /// An ended source starts again.
  void RestartSource(unsigned source_id);

  /// Time spent until now does not count as waiting (the pipeline was paused).
  void RestartWaits(uint64_t now_ns);

  /// Forms batches as far as it can and returns the first thing to do.
  MuxStep Next(uint64_t now_ns);

 private:
  struct Source {
    std::deque<std::unique_ptr<MuxFrame>> queue;
    size_t taken = 0;  ///< frames in the batch being formed
    uint64_t last_push_ns = 0;
    uint64_t frame_duration_ns = 0;
    bool end_queued = false;
    bool ended = false;
    bool stalled = false;
  };

  bool IsActive(const Source& source) const { return !source.ended && !source.stalled; }
  size_t Share() const;
  void NoteEnds();
  void TakeRoundRobin(uint64_t now_ns);
  void TakeInSync();
  bool Complete() const;
  bool EveryActiveSourceIsReady() const;
  uint64_t SyncWindowNs() const;
  void Take(Source& source);
  std::vector<std::unique_ptr<MuxFrame>> FinishBatch();
  std::optional<unsigned> FindEndToTell() const;
  std::optional<unsigned> FindStalled(uint64_t now_ns) const;
  std::optional<uint64_t> NextDeadline() const;
  bool HasWork() const;

  MuxSettings settings_;
  std::map<unsigned, Source> sources_;
  unsigned next_source_ = 0;  ///< the round goes on at the first id not below this one
  std::vector<std::unique_ptr<MuxFrame>> batch_;
  std::optional<uint64_t> wait_since_ns_;  ///< when the batch being formed began
  std::vector<unsigned> ends_to_tell_;
  bool all_ended_told_ = false;
};

}  // namespace sg

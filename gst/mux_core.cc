#include "gst/mux_core.h"

#include <algorithm>

namespace sg {
namespace {

// Half of this is the window of sync_inputs when no source tells its rate.
constexpr uint64_t kUnknownFrameDurationNs = 33'333'333;

}  // namespace

void BatchFormer::AddSource(unsigned source_id) {
  sources_.try_emplace(source_id);
  all_ended_told_ = false;
}

void BatchFormer::RemoveSource(unsigned source_id) {
  const auto it = sources_.find(source_id);
  if (it == sources_.end()) return;
  if (!it->second.ended) ends_to_tell_.push_back(source_id);
  sources_.erase(it);
}

void BatchFormer::SetFrameDuration(unsigned source_id, uint64_t duration_ns) {
  const auto it = sources_.find(source_id);
  if (it != sources_.end()) it->second.frame_duration_ns = duration_ns;
}

bool BatchFormer::HasRoom(unsigned source_id) const {
  const auto it = sources_.find(source_id);
  return it != sources_.end() && it->second.queue.size() < settings_.queue_frames;
}

void BatchFormer::Push(std::unique_ptr<MuxFrame> frame, uint64_t now_ns) {
  const auto it = sources_.find(frame->source_id);
  if (it == sources_.end()) return;
  it->second.stalled = false;
  it->second.last_push_ns = now_ns;
  it->second.queue.push_back(std::move(frame));
}

void BatchFormer::EndSource(unsigned source_id) {
  const auto it = sources_.find(source_id);
  if (it != sources_.end()) it->second.end_queued = true;
}

void BatchFormer::FlushSource(unsigned source_id) {
  const auto it = sources_.find(source_id);
  if (it == sources_.end()) return;
  it->second.queue.clear();
  it->second.taken = 0;
  std::erase_if(batch_, [source_id](const auto& frame) { return frame->source_id == source_id; });
  if (batch_.empty()) wait_since_ns_.reset();
  std::erase(ends_to_tell_, source_id);
  RestartSource(source_id);
}

void BatchFormer::RestartSource(unsigned source_id) {
  const auto it = sources_.find(source_id);
  if (it == sources_.end()) return;
  it->second.end_queued = false;
  it->second.ended = false;
  all_ended_told_ = false;
}

void BatchFormer::RestartWaits(uint64_t now_ns) {
  if (wait_since_ns_) wait_since_ns_ = now_ns;
}

MuxStep BatchFormer::Next(uint64_t now_ns) {
  MuxStep step;
  NoteEnds();
  if (!settings_.sync_inputs) {
    TakeRoundRobin(now_ns);
    NoteEnds();
  } else if (!wait_since_ns_ && HasWork()) {
    wait_since_ns_ = now_ns;
  }

  if (const auto ended = FindEndToTell()) {
    std::erase(ends_to_tell_, *ended);
    step.kind = MuxStep::Kind::kSourceEnded;
    step.source_id = *ended;
    return step;
  }
  if (HasWork()) {
    const bool late = settings_.push_timeout_ns && wait_since_ns_ &&
                      now_ns >= *wait_since_ns_ + *settings_.push_timeout_ns;
    const bool ready = settings_.sync_inputs ? EveryActiveSourceIsReady() : Complete();
    if (ready || late) {
      if (settings_.sync_inputs) TakeInSync();
      step.kind = MuxStep::Kind::kPushBatch;
      step.frames = FinishBatch();
      return step;
    }
    if (const auto stalled = FindStalled(now_ns)) {
      sources_[*stalled].stalled = true;
      step.kind = MuxStep::Kind::kSourceStalled;
      step.source_id = *stalled;
      return step;
    }
    step.wake_at_ns = NextDeadline();
    return step;
  }
  const bool all_ended =
      !sources_.empty() && std::all_of(sources_.begin(), sources_.end(),
                                       [](const auto& entry) { return entry.second.ended; });
  if (all_ended && !all_ended_told_) {
    all_ended_told_ = true;
    step.kind = MuxStep::Kind::kAllEnded;
  }
  return step;
}

size_t BatchFormer::Share() const {
  return std::max<size_t>(1, settings_.batch_size / std::max<size_t>(1, sources_.size()));
}

void BatchFormer::NoteEnds() {
  for (auto& [id, source] : sources_) {
    if (source.ended || !source.end_queued || !source.queue.empty()) continue;
    source.ended = true;
    ends_to_tell_.push_back(id);
  }
}

void BatchFormer::Take(Source& source) {
  batch_.push_back(std::move(source.queue.front()));
  source.queue.pop_front();
  ++source.taken;
}

void BatchFormer::TakeRoundRobin(uint64_t now_ns) {
  const size_t share = Share();
  bool took = true;
  while (took && batch_.size() < settings_.batch_size) {
    took = false;
    auto it = sources_.lower_bound(next_source_);
    for (size_t visited = 0; visited < sources_.size(); ++visited, ++it) {
      if (it == sources_.end()) it = sources_.begin();
      auto& [id, source] = *it;
      if (source.queue.empty() || source.taken >= share) continue;
      if (batch_.empty()) wait_since_ns_ = now_ns;
      Take(source);
      next_source_ = id + 1;
      took = true;
      break;
    }
  }
}

// The earliest waiting frame and those at most half a frame after it; frames without a time always.
void BatchFormer::TakeInSync() {
  std::vector<Source*> ready;
  std::optional<uint64_t> earliest;
  for (auto& [id, source] : sources_) {
    if (source.queue.empty()) continue;
    ready.push_back(&source);
    const auto time = source.queue.front()->running_time_ns;
    if (time && (!earliest || *time < *earliest)) earliest = time;
  }
  const auto time_of = [&](const Source* source) {
    return source->queue.front()->running_time_ns.value_or(earliest.value_or(0));
  };
  std::stable_sort(ready.begin(), ready.end(),
                   [&](const Source* a, const Source* b) { return time_of(a) < time_of(b); });
  const uint64_t window_ns = SyncWindowNs();
  for (Source* source : ready) {
    if (batch_.size() >= settings_.batch_size) break;
    if (time_of(source) - earliest.value_or(0) <= window_ns) Take(*source);
  }
}

uint64_t BatchFormer::SyncWindowNs() const {
  std::optional<uint64_t> fastest;
  for (const auto& [id, source] : sources_) {
    if (source.frame_duration_ns == 0 || source.ended) continue;
    fastest = std::min(fastest.value_or(source.frame_duration_ns), source.frame_duration_ns);
  }
  return fastest.value_or(kUnknownFrameDurationNs) / 2;
}

bool BatchFormer::Complete() const {
  if (batch_.size() >= settings_.batch_size) return true;
  const size_t share = Share();
  return std::all_of(sources_.begin(), sources_.end(), [&](const auto& entry) {
    return !IsActive(entry.second) || entry.second.taken >= share;
  });
}

bool BatchFormer::EveryActiveSourceIsReady() const {
  return std::all_of(sources_.begin(), sources_.end(), [&](const auto& entry) {
    return !IsActive(entry.second) || !entry.second.queue.empty();
  });
}

std::vector<std::unique_ptr<MuxFrame>> BatchFormer::FinishBatch() {
  for (auto& [id, source] : sources_) source.taken = 0;
  wait_since_ns_.reset();
  std::stable_sort(batch_.begin(), batch_.end(),
                   [](const auto& a, const auto& b) { return a->source_id < b->source_id; });
  std::vector<std::unique_ptr<MuxFrame>> frames;
  frames.swap(batch_);
  return frames;
}

std::optional<unsigned> BatchFormer::FindEndToTell() const {
  for (const unsigned id : ends_to_tell_) {
    const bool in_batch = std::any_of(batch_.begin(), batch_.end(),
                                      [id](const auto& frame) { return frame->source_id == id; });
    if (!in_batch) return id;
  }
  return std::nullopt;
}

// Only a source that keeps a started batch waiting is stalled.
std::optional<unsigned> BatchFormer::FindStalled(uint64_t now_ns) const {
  if (!wait_since_ns_) return std::nullopt;
  for (const auto& [id, source] : sources_) {
    if (!IsActive(source) || !source.queue.empty() || source.taken >= Share()) continue;
    if (now_ns >= std::max(source.last_push_ns, *wait_since_ns_) + settings_.stall_ns) return id;
  }
  return std::nullopt;
}

std::optional<uint64_t> BatchFormer::NextDeadline() const {
  if (!wait_since_ns_) return std::nullopt;
  std::optional<uint64_t> deadline;
  const auto consider = [&](uint64_t at_ns) {
    deadline = std::min(deadline.value_or(at_ns), at_ns);
  };
  if (settings_.push_timeout_ns) consider(*wait_since_ns_ + *settings_.push_timeout_ns);
  for (const auto& [id, source] : sources_) {
    if (!IsActive(source) || !source.queue.empty() || source.taken >= Share()) continue;
    consider(std::max(source.last_push_ns, *wait_since_ns_) + settings_.stall_ns);
  }
  return deadline;
}

// Whether there is a frame to batch: taken, or in sync mode waiting.
bool BatchFormer::HasWork() const {
  if (!batch_.empty()) return true;
  return settings_.sync_inputs &&
         std::any_of(sources_.begin(), sources_.end(),
                     [](const auto& entry) { return !entry.second.queue.empty(); });
}

}  // namespace sg

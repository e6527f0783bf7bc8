#include "pipeline/gst/source_branches.h"

#include <charconv>
#include <cstring>

#include "pipeline/gst/batch_meta.h"
#include "pipeline/gst/gst_error.h"
#include "pipeline/gst/pacer.h"

namespace sg {

enum class BranchFailure { kNone, kNotSeekable, kEmptyLoop };

struct SourceBranches::Branch {
  Branch(int n, BranchOptions o, std::shared_ptr<Pacer> p)
      : number(n), options(o), pacer(std::move(p)) {}

  GstPadProbeReturn OnBuffer(GstPad* pad, GstPadProbeInfo* info);
  GstPadProbeReturn OnEvent(GstPad* pad, GstEvent* event);

  const int number;
  const BranchOptions options;
  const std::shared_ptr<Pacer> pacer;  ///< null without a pace
  bool decoder_hooked = false;         ///< of the streaming thread
  std::atomic<bool> hooked{false};
  std::atomic<bool> stopping{false};
  std::atomic<uint64_t> frames{0};
  std::atomic<uint64_t> frames_at_restart{0};
  std::atomic<uint64_t> loops{0};
  std::atomic<bool> ended{false};
  std::atomic<bool> limited{false};
  std::atomic<BranchFailure> failure{BranchFailure::kNone};
  GstOwned<GstPad> pad;  ///< the hooked one; set before the probe runs
};

namespace {

/// The number of "sink_7"; -1 for other names.
int PadNumber(GstPad* pad) {
  constexpr char kPrefix[] = "sink_";
  const char* name = GST_OBJECT_NAME(pad);
  if (std::strncmp(name, kPrefix, sizeof kPrefix - 1) != 0) return -1;
  const char* digits = name + sizeof kPrefix - 1;
  int number = -1;
  std::from_chars(digits, digits + std::strlen(digits), number);
  return number;
}

}  // namespace

GstPadProbeReturn SourceBranches::Branch::OnBuffer(GstPad* peer, GstPadProbeInfo* info) {
  if (limited.load()) {
    gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
    info->data = nullptr;
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_EOS;
    return GST_PAD_PROBE_HANDLED;
  }
  const uint64_t count = frames.fetch_add(1) + 1;
  if (options.max_frames == 0 || count <= options.max_frames) return GST_PAD_PROBE_OK;
  frames.fetch_sub(1);
  limited.store(true);
  gst_pad_push_event(peer, gst_event_new_eos());
  return OnBuffer(peer, info);
}

GstPadProbeReturn SourceBranches::Branch::OnEvent(GstPad* peer, GstEvent* event) {
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_EOS: {
      const bool again = options.loop && !limited.load() && !stopping.load();
      if (again && frames.load() == frames_at_restart.load()) failure = BranchFailure::kEmptyLoop;
      if (!again || failure.load() != BranchFailure::kNone) {
        ended.store(true);
        return GST_PAD_PROBE_OK;
      }
      frames_at_restart.store(frames.load());
      loops.fetch_add(1);
      const GstOwned<GstElement> element(gst_pad_get_parent_element(peer));
      return element == nullptr ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
    }
    case GST_EVENT_FLUSH_START:
    case GST_EVENT_FLUSH_STOP:
    case GST_EVENT_SEGMENT:
      return loops.load() > 0 ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
    default:
      return GST_PAD_PROBE_OK;
  }
}

SourceBranches::SourceBranches(int streams, BranchOptions options) {
  if (options.pace.fps > 0) pacer_ = std::make_shared<Pacer>(streams, options.pace);
  for (int i = 0; i < streams; ++i)
    branches_.push_back(std::make_shared<Branch>(i, options, pacer_));
}

SourceBranches::~SourceBranches() {
  BeginStop();
  if (mux_ == nullptr) return;
  g_signal_handler_disconnect(mux_, pad_added_handler_);
  gst_object_unref(mux_);
}

void SourceBranches::Attach(GstElement* mux) {
  mux_ = GST_ELEMENT(gst_object_ref(mux));
  pad_added_handler_ = g_signal_connect(mux, "pad-added", G_CALLBACK(&OnPadAdded), this);
  GstIterator* pads = gst_element_iterate_sink_pads(mux);
  gst_iterator_foreach(
      pads,
      [](const GValue* value, gpointer self) {
        static_cast<SourceBranches*>(self)->AttachPad(GST_PAD(g_value_get_object(value)));
      },
      this);
  gst_iterator_free(pads);
}

void SourceBranches::BeginStop() {
  for (const auto& branch : branches_) branch->stopping.store(true);
  if (pacer_ != nullptr) pacer_->Stop();
}

void SourceBranches::OnPadAdded(GstElement*, GstPad* pad, gpointer self) {
  if (GST_PAD_IS_SINK(pad)) static_cast<SourceBranches*>(self)->AttachPad(pad);
}

void SourceBranches::OnPadLinked(GstPad* sink, GstPad* peer, gpointer self) {
  static_cast<SourceBranches*>(self)->AttachPeer(sink, peer);
}

void SourceBranches::AttachPad(GstPad* mux_sink_pad) {
  const GstOwned<GstPad> peer(gst_pad_get_peer(mux_sink_pad));
  if (peer != nullptr) return AttachPeer(mux_sink_pad, peer.get());
  g_signal_connect(mux_sink_pad, "linked", G_CALLBACK(&OnPadLinked), this);
}

void SourceBranches::AttachPeer(GstPad* mux_sink_pad, GstPad* peer) {
  const int number = PadNumber(mux_sink_pad);
  if (number < 0 || number >= static_cast<int>(branches_.size())) return;
  const std::shared_ptr<Branch>& branch = branches_[static_cast<size_t>(number)];
  if (branch->hooked.exchange(true)) return;
  branch->pad.reset(GST_PAD(gst_object_ref(peer)));
  const auto kinds =
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
                                   GST_PAD_PROBE_TYPE_EVENT_FLUSH);
  gst_pad_add_probe(peer, kinds, &OnProbe, new std::shared_ptr<Branch>(branch),
                    [](gpointer shared) { delete static_cast<std::shared_ptr<Branch>*>(shared); });
}

GstPadProbeReturn SourceBranches::OnProbe(GstPad* pad, GstPadProbeInfo* info, gpointer shared) {
  const std::shared_ptr<Branch>& branch = *static_cast<std::shared_ptr<Branch>*>(shared);
  if ((GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) != 0) {
    const GstPadProbeReturn verdict = branch->OnBuffer(pad, info);
    return verdict == GST_PAD_PROBE_OK && branch->pacer != nullptr ? Pace(pad, info, branch)
                                                                   : verdict;
  }
  GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
  const GstPadProbeReturn verdict = branch->OnEvent(pad, event);
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && verdict == GST_PAD_PROBE_DROP) {
    const GstOwned<GstElement> element(gst_pad_get_parent_element(pad));
    gst_element_call_async(
        element.get(), &Restart, new std::shared_ptr<Branch>(branch),
        [](gpointer copy) { delete static_cast<std::shared_ptr<Branch>*>(copy); });
  }
  return verdict;
}

GstPadProbeReturn SourceBranches::Pace(GstPad* pad, GstPadProbeInfo* info,
                                       const std::shared_ptr<Branch>& branch) {
  if (!branch->decoder_hooked) {
    branch->decoder_hooked = true;
    if (const GstOwned<GstPad> input(DecoderInput(pad)); input != nullptr)
      gst_pad_add_probe(
          input.get(), GST_PAD_PROBE_TYPE_BUFFER, &OnUnit, new std::shared_ptr<Branch>(branch),
          [](gpointer shared) { delete static_cast<std::shared_ptr<Branch>*>(shared); });
  }
  const std::optional<uint64_t> due_ns = branch->pacer->WaitFrame(branch->number);
  if (!due_ns) return GST_PAD_PROBE_DROP;
  GstBuffer* frame = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  info->data = frame;
  AddFrameMeta(frame)->capture_ns = *due_ns;
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn SourceBranches::OnUnit(GstPad*, GstPadProbeInfo*, gpointer shared) {
  const Branch& branch = **static_cast<std::shared_ptr<Branch>*>(shared);
  branch.pacer->WaitUnit(branch.number);
  return GST_PAD_PROBE_OK;
}

void SourceBranches::Restart(GstElement*, gpointer shared) {
  const std::shared_ptr<Branch>& branch = *static_cast<std::shared_ptr<Branch>*>(shared);
  if (branch->stopping.load()) return;
  GstEvent* seek = gst_event_new_seek(1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
                                      0, GST_SEEK_TYPE_NONE, 0);
  if (!gst_pad_send_event(branch->pad.get(), seek) && !branch->stopping.load())
    branch->failure.store(BranchFailure::kNotSeekable);
}

uint64_t SourceBranches::frames(int stream) const {
  return branches_[static_cast<size_t>(stream)]->frames.load();
}
bool SourceBranches::ended(int stream) const {
  return branches_[static_cast<size_t>(stream)]->ended.load();
}
bool SourceBranches::ended_by_limit(int stream) const {
  return branches_[static_cast<size_t>(stream)]->limited.load();
}
uint64_t SourceBranches::loops(int stream) const {
  return branches_[static_cast<size_t>(stream)]->loops.load();
}

std::string SourceBranches::failure(int stream) const {
  switch (branches_[static_cast<size_t>(stream)]->failure.load()) {
    case BranchFailure::kNone:
      return {};
    case BranchFailure::kNotSeekable:
      return "cannot be started again at its end, because it cannot be sought in; put it into an "
             "MP4 "
             "or Matroska file";
    case BranchFailure::kEmptyLoop:
      return "gave no frame when it was started again at its end";
  }
  return {};
}

}  // namespace sg

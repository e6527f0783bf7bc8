// CPU time a frame of one part of the single-stream pipeline, measured alone. Prints one JSON
// object.
//   streamgauge-bench-parts decode VIDEO SECONDS
//   streamgauge-bench-parts preprocess VIDEO WIDTH HEIGHT SECONDS
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <time.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "gst/preprocess.h"

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;

double ProcessCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double NumberOf(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

/// The decoding branch of the pipeline that bench/run.sh runs, with `sink` behind it.
GstElement* DecodingPipeline(const std::string& video, const std::string& sink) {
  const std::string launch =
      "filesrc name=source ! qtdemux ! h264parse ! avdec_h264 max-threads=1 ! " + sink;
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(launch.c_str(), &error);
  if (error != nullptr) {
    std::fprintf(stderr, "%s\n", error->message);
    g_error_free(error);
    return nullptr;
  }
  GstElement* source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
  g_object_set(source, "location", video.c_str(), nullptr);
  gst_object_unref(source);
  return pipeline;
}

/// Frames at the sink and the process's CPU time at the first and at the last of them, so that
/// starting and stopping do not count.
struct DecodeCount {
  long frames = 0;
  double first_cpu_s = 0;
  double last_cpu_s = 0;
};

GstPadProbeReturn OnFrame(GstPad*, GstPadProbeInfo*, gpointer user_data) {
  auto* count = static_cast<DecodeCount*>(user_data);
  count->last_cpu_s = ProcessCpuSeconds();
  if (count->frames++ == 0) count->first_cpu_s = count->last_cpu_s;
  return GST_PAD_PROBE_OK;
}

int Decode(const std::string& video, double seconds) {
  long frames = 0;
  double cpu_s = 0;
  const Clock::time_point start = Clock::now();
  while (SecondsSince(start) < seconds) {
    GstElement* pipeline = DecodingPipeline(video, "fakesink name=tap sync=false");
    if (pipeline == nullptr) return 1;
    DecodeCount count;
    GstElement* tap = gst_bin_get_by_name(GST_BIN(pipeline), "tap");
    GstPad* pad = gst_element_get_static_pad(tap, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, OnFrame, &count, nullptr);
    gst_object_unref(pad);
    gst_object_unref(tap);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    const bool failed = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
    gst_message_unref(message);
    gst_object_unref(bus);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    if (failed || count.frames < 2) {
      std::fprintf(stderr, "%s: cannot be decoded\n", video.c_str());
      return 1;
    }
    frames += count.frames - 1;
    cpu_s += count.last_cpu_s - count.first_cpu_s;
  }
  std::puts(ToJsonLine({{"frames", frames},
                        {"cpu_ms_per_frame", cpu_s * 1e3 / static_cast<double>(frames)}})
                .c_str());
  return 0;
}

/// The clip's first frames, held in memory. As many as a decoder's pool has, so that they are as
/// warm in the caches as a decoder leaves them.
class HeldFrames {
 public:
  static constexpr int kFrames = 8;

  explicit HeldFrames(const std::string& video) {
    pipeline_ = DecodingPipeline(video, "video/x-raw,format=I420 ! appsink name=tap sync=false");
    if (pipeline_ == nullptr) return;
    GstElement* tap = gst_bin_get_by_name(GST_BIN(pipeline_), "tap");
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
    for (int i = 0; i < kFrames; ++i) {
      GstSample* sample = gst_app_sink_pull_sample(GST_APP_SINK(tap));
      if (sample == nullptr) break;
      auto frame = std::make_unique<GstVideoFrame>();
      GstVideoInfo info;
      if (gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) &&
          gst_video_frame_map(frame.get(), &info, gst_sample_get_buffer(sample), GST_MAP_READ))
        frames_.push_back(std::move(frame));
      gst_sample_unref(sample);
    }
    gst_object_unref(tap);
  }
  ~HeldFrames() {
    for (auto& frame : frames_) gst_video_frame_unmap(frame.get());
    if (pipeline_ == nullptr) return;
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }
  HeldFrames(const HeldFrames&) = delete;
  HeldFrames& operator=(const HeldFrames&) = delete;

  std::vector<Picture> Pictures() const {
    std::vector<Picture> pictures;
    for (const auto& frame : frames_) {
      Picture picture;
      picture.width = GST_VIDEO_FRAME_WIDTH(frame.get());
      picture.height = GST_VIDEO_FRAME_HEIGHT(frame.get());
      for (unsigned plane = 0; plane < 3; ++plane) {
        picture.planes[plane] =
            static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(frame.get(), plane));
        picture.strides[plane] = GST_VIDEO_FRAME_PLANE_STRIDE(frame.get(), plane);
      }
      pictures.push_back(picture);
    }
    return pictures;
  }

 private:
  GstElement* pipeline_ = nullptr;
  std::vector<std::unique_ptr<GstVideoFrame>> frames_;
};

int Preprocess(const std::string& video, int width, int height, double seconds) {
  const HeldFrames held(video);
  const std::vector<Picture> pictures = held.Pictures();
  if (pictures.empty()) {
    std::fprintf(stderr, "%s: cannot be decoded\n", video.c_str());
    return 1;
  }
  Preprocessor::Options options;
  options.network_width = width;
  options.network_height = height;
  Preprocessor preprocessor(options);
  std::vector<std::vector<uint8_t>> inputs(4);  // one for each request that is in flight
  for (auto& input : inputs) input.resize(preprocessor.OutputBytes());
  const auto run = [&](double length_s) {
    long frames = 0;
    for (const Clock::time_point start = Clock::now(); SecondsSince(start) < length_s; ++frames)
      preprocessor.Run(pictures[static_cast<size_t>(frames) % pictures.size()],
                       inputs[static_cast<size_t>(frames) % inputs.size()].data());
    return frames;
  };
  run(0.2);
  const double cpu_begin_s = ProcessCpuSeconds();
  const long frames = run(seconds);
  const double cpu_s = ProcessCpuSeconds() - cpu_begin_s;
  std::puts(ToJsonLine({{"frames", frames},
                        {"cpu_ms_per_frame", cpu_s * 1e3 / static_cast<double>(frames)}})
                .c_str());
  return 0;
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 3 && args[0] == "decode" && NumberOf(args[2]) > 0)
    return Decode(args[1], NumberOf(args[2]));
  if (args.size() == 5 && args[0] == "preprocess" && NumberOf(args[2]) >= 1 &&
      NumberOf(args[3]) >= 1 && NumberOf(args[4]) > 0)
    return Preprocess(args[1], static_cast<int>(NumberOf(args[2])),
                      static_cast<int>(NumberOf(args[3])), NumberOf(args[4]));
  std::fputs(
      "usage: streamgauge-bench-parts decode VIDEO SECONDS\n"
      "       streamgauge-bench-parts preprocess VIDEO WIDTH HEIGHT SECONDS\n",
      stderr);
  return 2;
}

}  // namespace
}  // namespace sg

int main(int argc, char** argv) {
  gst_init(nullptr, nullptr);
  return sg::Main(argc, argv);
}

// sgtrace inside a process that has several pipelines one after the other and never ends GStreamer.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/testing.h"
#include "trace/element_times.h"
#include "trace/trace_reader.h"

namespace sg::trace {
namespace {

/// GStreamer makes its tracers when it starts: once in a process.
const std::string& TraceOfThisProcess() {
  static const TempFolder folder;
  static const std::string path = [] {
    const std::string file = folder / "a.sgtrace";
    setenv("GST_PLUGIN_PATH", SG_PLUGIN_FOLDER, 1);
    setenv("GST_REGISTRY", SG_REGISTRY_FILE, 1);
    setenv("GST_TRACERS", "sgtrace(period=4,level-period-ms=1)", 1);
    setenv("SGTRACE_FILE", file.c_str(), 1);
    gst_init(nullptr, nullptr);
    return file;
  }();
  return path;
}

void Play(const char* launch) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(launch, &error);
  ASSERT_EQ(error, nullptr) << error->message;
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 30 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

TEST(Tracer, PipelinesThatComeAndGoAreToldApart) {
  const std::string path = TraceOfThisProcess();
  constexpr int kPipelines = 5;
  for (int i = 0; i < kPipelines; ++i)
    Play(
        "fakesrc num-buffers=200 sizetype=fixed sizemax=64 ! tee name=t ! queue ! fakesink "
        "sync=false async=false t. ! queue ! identity ! fakesink async=false");
  const Result<TraceFile> trace = TraceFile::Open(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->records_lost, 0u);
  EXPECT_EQ(trace->damaged_chunks, 0u);
  uint64_t sinks = 0;
  uint64_t calls = 0;
  for (const ElementTime& element : MeasureElements(*trace).elements) {
    if (element.element.factory != "fakesink") continue;
    ++sinks;
    calls += element.calls;
    EXPECT_EQ(element.calls, 200u) << element.element.path;
  }
  EXPECT_EQ(sinks, 2u * kPipelines);
  EXPECT_EQ(calls, 400u * kPipelines);
}

TEST(Tracer, BuffersInListsAreCounted) {
  const std::string path = TraceOfThisProcess();
  Play(
      "videotestsrc num-buffers=10 ! video/x-raw,format=RGB,width=64,height=64 ! rtpvrawpay "
      "mtu=500 ! fakesink name=last");
  const Result<TraceFile> trace = TraceFile::Open(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  for (const ElementTime& element : MeasureElements(*trace).elements)
    if (element.element.name == "last") {
      EXPECT_GE(element.buffers_in, 10u * 6);
      EXPECT_LT(element.calls, element.buffers_in);
    }
}

}  // namespace
}  // namespace sg::trace

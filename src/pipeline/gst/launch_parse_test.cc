// The launch strings, read back by GStreamer itself.
#include <gst/gst.h>

#include "pipeline/gst/clip_test.h"
#include "pipeline/gst/probe.h"

namespace sg {
namespace {

class LaunchParse : public ClipTest {
 protected:
  /// Of the one filesrc in the pipeline.
  static std::string Location(GstElement* pipeline) {
    GstIterator* sources =
        gst_bin_iterate_all_by_element_factory_name(GST_BIN(pipeline), "filesrc");
    GValue value = G_VALUE_INIT;
    GstOwned<GstElement> source;
    if (gst_iterator_next(sources, &value) == GST_ITERATOR_OK) {
      source.reset(GST_ELEMENT(g_value_dup_object(&value)));
      g_value_unset(&value);
    }
    gst_iterator_free(sources);
    if (source == nullptr) return "(no element)";
    gchar* location = nullptr;
    g_object_get(source.get(), "location", &location, nullptr);
    const std::string text = location != nullptr ? location : "";
    g_free(location);
    return text;
  }
};

TEST_F(LaunchParse, GivesBackAnyFileName) {
  for (const std::string path : {"/clips/plain.mp4",
                                 "-v.mp4",
                                 "$(id).mp4",
                                 "/a b/c  d.mp4",
                                 "/a!b ! fakesink.mp4",
                                 "/quote\"d\".mp4",
                                 "/it's.mp4",
                                 "\"whole\"",
                                 "/back\\slash.mp4",
                                 "/end\\",
                                 "/both\\\" x.mp4",
                                 "/\xc3\xbcml\xc3\xa4ut \xe6\xbc\xa2.mp4",
                                 "/line\nbreak.mp4",
                                 "/tab\t.mp4",
                                 "/a=b;c&d|e.mp4",
                                 "/(bin).mp4",
                                 "name=x",
                                 "/50%.mp4",
                                 "~/x.mp4",
                                 "/*?.mp4",
                                 "true",
                                 "0x10"}) {
    // A second property and element would be swallowed by a value that does not end where it
    // should.
    const std::string launch = "filesrc " + LaunchProperty("location", path) +
                               " blocksize=77 ! fakesink " + LaunchProperty("name", "\"e\" x");
    Result<GstOwned<GstElement>> pipeline = ParsePipeline(launch);
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().message;
    EXPECT_EQ(Location(pipeline->get()), path) << launch;
    const GstOwned<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline->get()), "\"e\" x"));
    EXPECT_NE(sink, nullptr) << launch;
  }
}

TEST_F(LaunchParse, ArgvMeansTheSame) {
  for (const std::string path : {"/a b ! c.mp4", "/it's \"x\"\\.mp4", "$(id) .mp4"}) {
    LaunchPlan plan;
    plan.sources.resize(1);
    plan.sources[0].path = path;
    std::vector<std::string> words = LaunchArgv(plan);
    std::vector<const gchar*> argv;
    for (size_t i = 1; i < words.size(); ++i) argv.push_back(words[i].c_str());
    argv.push_back(nullptr);
    GError* error = nullptr;
    GstElement* raw = gst_parse_launchv(argv.data(), &error);
    ASSERT_EQ(error, nullptr) << error->message;
    gst_object_ref_sink(raw);
    const GstOwned<GstElement> pipeline(raw);
    EXPECT_EQ(Location(pipeline.get()), path);
  }
}

TEST_F(LaunchParse, SaysWhichPackageHasAMissingElement) {
  const Result<GstOwned<GstElement>> none = ParsePipeline("avdec_nothing ! fakesink");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(none.error().message, "no element \"avdec_nothing\": apt install gstreamer1.0-libav");
}

TEST_F(LaunchParse, RefusesWhatIsNoPipeline) {
  for (const char* launch :
       {"", "fakesrc !", "fakesrc nothing=1 ! fakesink", "fakesrc ! ! fakesink"}) {
    const Result<GstOwned<GstElement>> pipeline = ParsePipeline(launch);
    ASSERT_FALSE(pipeline.ok()) << launch;
    EXPECT_EQ(pipeline.error().kind, ErrorKind::kUser) << pipeline.error().message;
    EXPECT_EQ(pipeline.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(LaunchParse, MasksPasswords) {
  const Result<GstOwned<GstElement>> pipeline =
      ParsePipeline("fakesrc nothing=rtsp://me:secret@cam/ ! fakesink");
  ASSERT_FALSE(pipeline.ok());
  EXPECT_EQ(pipeline.error().message.find("secret"), std::string::npos) << pipeline.error().message;
}

}  // namespace
}  // namespace sg

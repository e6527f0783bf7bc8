#include "pipeline/gst/gst_error.h"

#include <array>

#include "base/log.h"

namespace sg {
namespace {

struct PackagedElement {
  const char* prefix;
  const char* package;
};
/// Debian 12 and Ubuntu 24.04: `apt-file search` of the plugins' files.
constexpr std::array<PackagedElement, 26> kPackages = {
    {{"avdec_", "gstreamer1.0-libav"},
     {"avenc_", "gstreamer1.0-libav"},
     {"qtdemux", "gstreamer1.0-plugins-good"},
     {"matroska", "gstreamer1.0-plugins-good"},
     {"avidemux", "gstreamer1.0-plugins-good"},
     {"flvdemux", "gstreamer1.0-plugins-good"},
     {"jpeg", "gstreamer1.0-plugins-good"},
     {"vp8", "gstreamer1.0-plugins-good"},
     {"vp9", "gstreamer1.0-plugins-good"},
     {"rtsp", "gstreamer1.0-plugins-good"},
     {"h264parse", "gstreamer1.0-plugins-bad"},
     {"h265parse", "gstreamer1.0-plugins-bad"},
     {"mpeg4videoparse", "gstreamer1.0-plugins-bad"},
     {"av1", "gstreamer1.0-plugins-bad"},
     {"tsdemux", "gstreamer1.0-plugins-bad"},
     {"nvh264", "gstreamer1.0-plugins-bad"},
     {"nvh265", "gstreamer1.0-plugins-bad"},
     {"theora", "gstreamer1.0-plugins-base"},
     {"ogg", "gstreamer1.0-plugins-base"},
     {"videoconvert", "gstreamer1.0-plugins-base"},
     {"videoscale", "gstreamer1.0-plugins-base"},
     {"videotestsrc", "gstreamer1.0-plugins-base"},
     {"decodebin", "gstreamer1.0-plugins-base"},
     {"appsink", "gstreamer1.0-plugins-base"},
     {"appsrc", "gstreamer1.0-plugins-base"},
     {"volume", "gstreamer1.0-plugins-base"}}};

struct ParseContextFree {
  void operator()(GstParseContext* context) const { gst_parse_context_free(context); }
};

std::string FirstLine(const char* text) {
  if (text == nullptr) return {};
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

/// The debug text's own words, without the place in GStreamer's source that opens it.
std::string DebugWords(const char* debug) {
  if (debug == nullptr) return {};
  std::string text = debug;
  // "gstfilesrc.c(533): gst_file_src_start (): /GstPipeline:pipeline0/GstFileSrc:filesrc0:\nwords"
  const size_t newline = text.find('\n');
  return newline == std::string::npos ? std::string() : FirstLine(text.c_str() + newline + 1);
}

ErrorKind KindOf(const GError* error) {
  if (error->domain == GST_STREAM_ERROR) {
    switch (error->code) {
      case GST_STREAM_ERROR_CODEC_NOT_FOUND:
        return ErrorKind::kEnvironment;
      case GST_STREAM_ERROR_FAILED:
      case GST_STREAM_ERROR_NOT_IMPLEMENTED:
        return ErrorKind::kInternal;
      default:
        return ErrorKind::kUser;
    }
  }
  if (error->domain == GST_RESOURCE_ERROR) {
    switch (error->code) {
      case GST_RESOURCE_ERROR_NOT_FOUND:
      case GST_RESOURCE_ERROR_OPEN_READ:
      case GST_RESOURCE_ERROR_READ:
      case GST_RESOURCE_ERROR_SETTINGS:
      case GST_RESOURCE_ERROR_NOT_AUTHORIZED:
        return ErrorKind::kUser;
      default:
        return ErrorKind::kEnvironment;
    }
  }
  if (error->domain == GST_LIBRARY_ERROR)
    return error->code == GST_LIBRARY_ERROR_SETTINGS ? ErrorKind::kUser : ErrorKind::kEnvironment;
  if (error->domain == GST_CORE_ERROR && error->code == GST_CORE_ERROR_MISSING_PLUGIN)
    return ErrorKind::kEnvironment;
  return ErrorKind::kInternal;
}

std::string ElementName(GstMessage* message) {
  const GstObject* source = GST_MESSAGE_SRC(message);
  return source != nullptr && GST_OBJECT_NAME(source) != nullptr ? GST_OBJECT_NAME(source)
                                                                 : "pipeline";
}

std::string OneLine(GstMessage* message, const GError* error, const char* debug) {
  std::string line = ElementName(message) + ": " + FirstLine(error->message);
  const std::string words = DebugWords(debug);
  if (!words.empty() && words != FirstLine(error->message)) line += " (" + words + ")";
  return MaskSecrets(line);
}

Error MissingElement(const std::string& element) {
  std::string line = "no element \"" + element + "\"";
  if (element.rfind("sg", 0) == 0)
    return EnvironmentError(line +
                            ": streamgauge's own plugin is not in ../lib/gstreamer-1.0 beside "
                            "the program, nor in GST_PLUGIN_PATH; build it with `make build`");
  const std::string package = DebianPackageOf(element);
  return EnvironmentError(line + (package.empty() ? ": install the GStreamer plugin that has it"
                                                  : ": apt install " + package));
}

}  // namespace

std::string DebianPackageOf(const std::string& element) {
  for (const PackagedElement& entry : kPackages)
    if (element.rfind(entry.prefix, 0) == 0) return entry.package;
  return {};
}

Result<GstOwned<GstElement>> ParsePipeline(const std::string& launch) {
  const std::unique_ptr<GstParseContext, ParseContextFree> context(gst_parse_context_new());
  GError* raw_error = nullptr;
  GstElement* raw =
      gst_parse_launch_full(launch.c_str(), context.get(), GST_PARSE_FLAG_FATAL_ERRORS, &raw_error);
  const OwnedGError error(raw_error);
  if (raw != nullptr) gst_object_ref_sink(raw);
  GstOwned<GstElement> element(raw);
  if (g_error_matches(error.get(), GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT)) {
    gchar** missing = gst_parse_context_get_missing_elements(context.get());
    const std::string name = missing != nullptr ? missing[0] : "?";
    g_strfreev(missing);
    return MissingElement(name);
  }
  if (error != nullptr)
    return UserError("pipeline: " + MaskSecrets(FirstLine(error->message)) +
                     "; it says: " + MaskSecrets(launch));
  if (element == nullptr) return UserError("pipeline: is empty");
  if (GST_IS_PIPELINE(element.get())) return element;
  // A single element is parsed to that element, not to a pipeline.
  GstElement* pipeline = gst_pipeline_new(nullptr);
  gst_object_ref_sink(pipeline);
  gst_bin_add(GST_BIN(pipeline), element.get());
  return GstOwned<GstElement>(pipeline);
}

Error ErrorFromMessage(GstMessage* message) {
  GError* raw_error = nullptr;
  gchar* debug = nullptr;
  gst_message_parse_error(message, &raw_error, &debug);
  const OwnedGError error(raw_error);
  Error result{KindOf(error.get()), OneLine(message, error.get(), debug)};
  g_free(debug);
  return result;
}

std::string WarningFromMessage(GstMessage* message) {
  GError* raw_error = nullptr;
  gchar* debug = nullptr;
  gst_message_parse_warning(message, &raw_error, &debug);
  const OwnedGError error(raw_error);
  std::string line = OneLine(message, error.get(), debug);
  g_free(debug);
  return line;
}

}  // namespace sg

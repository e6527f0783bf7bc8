#include "pipeline/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/subprocess.h"

namespace sg {
namespace {

struct Demuxer {
  const char* mime;
  const char* element;
  /// Pad of the first video track; empty where names carry ids that differ from file to file, and
  /// the pad is found by what the next element accepts.
  const char* video_pad;
};
constexpr std::array<Demuxer, 9> kDemuxers = {{{"video/quicktime", "qtdemux", "video_0"},
                                               {"audio/x-m4a", "qtdemux", "video_0"},
                                               {"video/x-matroska", "matroskademux", "video_0"},
                                               {"video/webm", "matroskademux", "video_0"},
                                               {"video/x-msvideo", "avidemux", "video_0"},
                                               {"video/x-flv", "flvdemux", "video"},
                                               {"video/mpegts", "tsdemux", ""},
                                               {"video/ogg", "oggdemux", ""},
                                               {"application/ogg", "oggdemux", ""}}};

struct Decoder {
  const char* mime;
  const char* parser;  ///< empty: none needed
  const char* element;
  /// The property that takes the number of threads; empty: the decoder has one.
  const char* threads_property;
};
constexpr std::array<Decoder, 8> kDecoders = {
    {{"video/x-h264", "h264parse", "avdec_h264", "max-threads"},
     {"video/x-h265", "h265parse", "avdec_h265", "max-threads"},
     {"video/mpeg", "mpeg4videoparse", "avdec_mpeg4", "max-threads"},
     {"video/x-vp8", "", "vp8dec", "threads"},
     {"video/x-vp9", "", "vp9dec", "threads"},
     {"video/x-av1", "av1parse", "av1dec", ""},
     {"image/jpeg", "", "jpegdec", ""},
     {"video/x-theora", "", "theoradec", ""}}};

template <typename Table>
auto FindMime(const Table& table, const std::string& mime) {
  return std::find_if(table.begin(), table.end(),
                      [&](const auto& entry) { return mime == entry.mime; });
}

/// "video/mpeg" is MPEG-1 and MPEG-2 as well; only MPEG-4's chain is known here.
bool IsKnownCodec(const VideoInfo& video) {
  if (FindMime(kDecoders, video.codec_mime) == kDecoders.end()) return false;
  return video.codec_mime != "video/mpeg" || video.codec.find("MPEG-4") != std::string::npos;
}

/// Decoders of these give pictures that sgmux takes as they are, whatever the header leaves unsaid.
bool IsPlainPicture(const VideoInfo& video) {
  const bool always_plain = video.codec_mime == "video/x-vp8";
  return always_plain || (video.bit_depth == 8 && video.chroma == "4:2:0");
}

class Words {
 public:
  void Add(std::string word) { words_.push_back(std::move(word)); }
  void Number(const char* name, int64_t value) { Add(fmt::format("{}={}", name, value)); }
  void Text(const char* name, const std::string& value) { Add(LaunchProperty(name, value)); }
  void Link() { Add("!"); }
  std::vector<std::string> Take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

void AddDecoder(const LaunchPlan& plan, const VideoInfo& video, Words* words) {
  const auto decoder = FindMime(kDecoders, video.codec_mime);
  if (decoder->parser[0] != '\0') {
    words->Add(decoder->parser);
    words->Link();
  }
  words->Add(decoder->element);
  if (decoder->threads_property[0] != '\0')
    words->Number(decoder->threads_property, plan.decoder_threads);
}

void AddSource(const LaunchPlan& plan, size_t stream, Words* words) {
  const VideoInfo& video = plan.sources[stream];
  words->Add("filesrc");
  words->Text("location", video.path);
  words->Link();
  const auto demuxer = FindMime(kDemuxers, video.container_mime);
  if (demuxer != kDemuxers.end() && IsKnownCodec(video)) {
    const std::string name = fmt::format("demux{}", stream);
    words->Add(demuxer->element);
    words->Text("name", name);
    words->Add(name + "." + demuxer->video_pad);
    words->Link();
    AddDecoder(plan, video, words);
  } else {
    // Its pads appear by type: the link takes the first one that carries raw video.
    words->Add("decodebin");
    words->Text("name", fmt::format("decode{}", stream));
    words->Add(fmt::format("decode{}.", stream));
    words->Link();
    words->Add("video/x-raw");
  }
  words->Link();
  if (!IsPlainPicture(video)) {
    words->Add("videoconvert");
    words->Link();
  }
  words->Add(fmt::format("mux.sink_{}", stream));
}

void AddEnd(const LaunchPlan& plan, Words* words) {
  switch (plan.end) {
    case LaunchEnd::kKitti:
      words->Add("sgkitti");
      words->Text("output-dir", plan.output);
      words->Link();
      [[fallthrough]];
    case LaunchEnd::kTap:
      words->Add("fakesink");
      words->Text("name", "tap");
      words->Add("sync=false");
      return;
    case LaunchEnd::kVideo:
      words->Add("sgdemux");
      words->Text("name", "demux");
      words->Add("demux.src_0");
      words->Link();
      words->Add("sgosd");
      words->Text("name", "tap");
      words->Link();
      words->Add("videoconvert");
      words->Link();
      words->Add("theoraenc");
      words->Number("quality", 48);
      words->Link();
      words->Add("oggmux");
      words->Link();
      words->Add("filesink");
      words->Text("location", plan.output);
      words->Add("sync=false");
  }
}

bool IsPlainByte(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-' || c == '.' || c == '/' || c == ':' || c == '+' || c == ',' || c == '@';
}

/// gst_parse_launch keeps everything between double quotes but quotes and backslashes as it is.
bool FitsQuotes(unsigned char c) { return c >= 0x20 && c != 0x7f && c != '"' && c != '\\'; }

}  // namespace

std::string LaunchProperty(const std::string& name, const std::string& value) {
  // Words such as "true" or "5" are fine for a string property as well.
  if (!value.empty() && std::all_of(value.begin(), value.end(), IsPlainByte))
    return name + "=" + value;
  if (std::all_of(value.begin(), value.end(), FitsQuotes)) return name + "=\"" + value + "\"";
  // The form of gst_value_serialize: a quoted string with octal escapes. gst_parse_launch takes one
  // level of backslashes off before GStreamer's value parser reads the rest.
  std::string escaped = name + "=\\\"";
  for (unsigned char c : value)
    escaped += IsPlainByte(c) ? std::string(1, static_cast<char>(c)) : fmt::format("\\\\{:03o}", c);
  return escaped + "\\\"";
}

std::vector<std::string> LaunchWords(const LaunchPlan& plan) {
  Words words;
  words.Add("sgmux");
  words.Text("name", "mux");
  words.Number("batch-size", plan.batch_size);
  words.Number("width", plan.width);
  words.Number("height", plan.height);
  words.Number("batched-push-timeout", plan.batched_push_timeout_us);
  words.Link();
  if (!plan.infer_config_path.empty()) {
    words.Add("sginfer");
    words.Text("config-file-path", plan.infer_config_path);
    words.Number("batch-size", plan.batch_size);
    words.Link();
  }
  AddEnd(plan, &words);
  for (size_t stream = 0; stream < plan.sources.size(); ++stream) AddSource(plan, stream, &words);
  return words.Take();
}

std::string LaunchString(const LaunchPlan& plan) {
  return fmt::format("{}", fmt::join(LaunchWords(plan), " "));
}

std::vector<std::string> LaunchArgv(const LaunchPlan& plan) {
  std::vector<std::string> argv = LaunchWords(plan);
  argv.insert(argv.begin(), "gst-launch-1.0");
  return argv;
}

std::string LaunchShellLine(const LaunchPlan& plan, const std::string& plugin_folder) {
  const std::string command = ShellQuoted(LaunchArgv(plan));
  if (plugin_folder.empty()) return command;
  return "GST_PLUGIN_PATH=" + ShellQuoted({plugin_folder}) + " " + command;
}

}  // namespace sg

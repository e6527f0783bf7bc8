#include "deepstream/config_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "deepstream/key_file.h"

namespace sg {
namespace {

void AddKey(std::string* text, const char* key, const std::string& value) {
  *text += fmt::format("{}={}\n", key, EscapeKeyFileValue(value));
}

void AddKey(std::string* text, const char* key, int value) {
  *text += fmt::format("{}={}\n", key, value);
}

/// The shortest digits that read back as the same number, in every locale.
void AddKey(std::string* text, const char* key, double value) {
  *text += fmt::format("{}={}\n", key, value);
}

/// A comment of one line, whatever is in `words`.
void AddComment(std::string* text, std::string words) {
  for (char& c : words) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  *text += "# " + words + "\n";
}

void AddPreprocessing(const ModelCard& card, std::string* text) {
  const Preprocessing& preprocessing = card.preprocessing;
  AddComment(text, "Pixels to network input, from " + preprocessing.source + ".");
  if (!preprocessing.front.mean.empty()) {
    AddComment(text, fmt::format("Then mean {:g} and std {:g}, which the ONNX itself computes: "
                                 "nvinfer has one scale for all channels.",
                                 fmt::join(preprocessing.front.mean, ", "),
                                 fmt::join(preprocessing.front.std, ", ")));
  }
  AddKey(text, "net-scale-factor", preprocessing.net_scale_factor);
  if (!preprocessing.offsets.empty()) {
    std::string offsets;
    for (const double offset : preprocessing.offsets) {
      offsets += fmt::format("{}{}", offsets.empty() ? "" : ";", offset);
    }
    AddKey(text, "offsets", offsets);
  }
  AddKey(text, "model-color-format", preprocessing.bgr ? 1 : 0);
  AddKey(text, "infer-dims", fmt::format("3;{};{}", card.input_height, card.input_width));
  switch (preprocessing.resize) {
    case ResizeMode::kStretch:
      AddComment(text, "The model was trained on stretched pictures.");
      AddKey(text, "maintain-aspect-ratio", 0);
      break;
    case ResizeMode::kLetterboxCorner:
      AddComment(text, "The model was trained on pictures padded right and below.");
      AddKey(text, "maintain-aspect-ratio", 1);
      AddKey(text, "symmetric-padding", 0);
      break;
    case ResizeMode::kLetterboxCentre:
      AddComment(text, "The model was trained on pictures padded on both sides.");
      AddKey(text, "maintain-aspect-ratio", 1);
      AddKey(text, "symmetric-padding", 1);
      break;
  }
  AddComment(text, "Bilinear, as in training; nvinfer's own default takes the nearest pixel.");
  AddKey(text, "scaling-filter", 1);
}

/// The groups that both app configs have after [application].
void AddAppGroups(const AppConfig& config, bool loop, std::string* text) {
  *text += "\n[tiled-display]\nenable=0\n\n[source0]\nenable=1\n";
  AddKey(text, "type", 3);
  AddComment(text, "deepstream-app takes the URI for a printf format, so each % is doubled.");
  std::string uri;
  for (const char c : FileUri(config.video))
    uri += c == '%' ? std::string("%%") : std::string(1, c);
  AddKey(text, "uri", uri);
  AddKey(text, "num-sources", config.streams);
  AddKey(text, "gpu-id", 0);
  *text += "\n[sink0]\nenable=1\ntype=1\nsync=0\n\n[osd]\nenable=0\n\n[streammux]\nlive-source=0\n";
  AddKey(text, "batch-size", config.streams);
  AddKey(text, "batched-push-timeout", -1);
  AddKey(text, "width", config.mux_width);
  AddKey(text, "height", config.mux_height);
  *text += "\n[primary-gie]\nenable=1\n";
  AddKey(text, "batch-size", config.streams);
  AddKey(text, "gie-unique-id", 1);
  AddKey(text, "config-file", config.infer_config);
  *text += "\n[tests]\n";
  AddKey(text, "file-loop", loop ? 1 : 0);
}

/// nvinfer splits the list at ';'.
std::string OutputNames(const Head& head) {
  std::string names;
  for (const HeadOutput& output : head.outputs) names += (names.empty() ? "" : ";") + output.name;
  return names;
}

}  // namespace

std::string WriteNvinferConfig(const ModelCard& card, const NvinferConfigPaths& paths) {
  std::string text;
  AddComment(&text, fmt::format("nvinfer config of {}, written by streamgauge import. Paths count "
                                "from this file's folder.",
                                card.name));
  text += "[property]\ngpu-id=0\n";
  AddPreprocessing(card, &text);

  text += "\n";
  AddKey(&text, "onnx-file", paths.onnx_file);
  AddKey(&text, "model-engine-file", paths.model_engine_file);
  AddKey(&text, "labelfile-path", paths.labelfile_path);
  AddKey(&text, "batch-size", paths.batch_size);
  AddKey(&text, "network-mode", paths.network_mode);
  AddKey(&text, "network-type", 0);
  AddKey(&text, "process-mode", 1);
  AddKey(&text, "interval", 0);
  AddKey(&text, "gie-unique-id", 1);

  text += "\n";
  AddComment(&text, "Classes, from " + card.labels_source + ".");
  AddKey(&text, "num-detected-classes", card.head.num_classes);
  if (!card.filtered_classes.empty())
    AddKey(&text, "filter-out-class-ids", fmt::format("{}", fmt::join(card.filtered_classes, ";")));
  AddKey(&text, "output-blob-names", OutputNames(card.head));
  AddKey(&text, "custom-lib-path", paths.custom_lib_path);
  AddKey(&text, "parse-bbox-func-name", paths.parse_bbox_func_name);
  AddComment(&text, card.cluster_mode ? card.cluster_mode_reason
                    : card.head.IsDense()
                        ? "A dense head: NMS chooses among boxes that overlap by design."
                        : "A head whose boxes are final: no NMS unless duplicates are measured.");
  AddKey(&text, "cluster-mode", card.cluster_mode.value_or(card.head.IsDense() ? 2 : 4));

  text += "\n[class-attrs-all]\n";
  AddKey(&text, "topk", card.topk);
  AddComment(&text, "From " + card.nms_iou_source + ".");
  AddKey(&text, "nms-iou-threshold", card.nms_iou_threshold);
  AddComment(&text, "From " + card.score_threshold_source + ".");
  AddKey(&text, "pre-cluster-threshold", card.score_threshold);
  return text;
}

std::string WriteBenchmarkAppConfig(const AppConfig& config) {
  std::string text = "[application]\nenable-perf-measurement=1\nperf-measurement-interval-sec=2\n";
  AddAppGroups(config, true, &text);
  return text;
}

std::string WriteKittiAppConfig(const AppConfig& config, const std::string& kitti_folder) {
  std::string text = "[application]\nenable-perf-measurement=0\n";
  AddKey(&text, "gie-kitti-output-dir", kitti_folder);
  AddAppGroups(config, false, &text);
  return text;
}

std::string FileUri(const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

}  // namespace sg

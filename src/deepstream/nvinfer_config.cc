#include "deepstream/nvinfer_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "base/files.h"
#include "deepstream/key_file.h"
#include "deepstream/yaml_groups.h"

namespace sg {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int kMaxBatchSize = 1024;  // NVDSINFER_MAX_BATCH_SIZE
constexpr std::string_view kClassPrefix = "class-attrs-";

/// One key's value and where it stands.
struct Value {
  const std::string& text;
  std::string place;  ///< "file:line key"

  Error Wrong(const std::string& expected) const {
    return UserError(fmt::format("{}: '{}' is not {}", place, text, expected));
  }
};

template <typename T>
bool ParseNumber(std::string_view text, T* number) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

Result<int> ToInt(const Value& value, std::string_view text, int low, int high) {
  int number = 0;
  if (!ParseNumber(text, &number) || number < low || number > high) {
    if (high == kMaxInt) return value.Wrong(fmt::format("a whole number of at least {}", low));
    return value.Wrong(fmt::format("a whole number from {} to {}", low, high));
  }
  return number;
}

Result<double> ToDouble(const Value& value, std::string_view text, double low, double high) {
  double number = 0;
  if (!ParseNumber(text, &number) || !std::isfinite(number)) return value.Wrong("a number");
  if (number < low || number > high) {
    return value.Wrong(std::isinf(high) ? fmt::format("a number of at least {}", low)
                                        : fmt::format("a number from {} to {}", low, high));
  }
  return number;
}

Result<bool> ToBool(const Value& value) {
  if (value.text == "1" || value.text == "true") return true;
  if (value.text == "0" || value.text == "false") return false;
  return value.Wrong("0 or 1");
}

using Setter = std::function<Status(const Value&, NvinferConfig*)>;
using ClassSetter = std::function<Status(const Value&, NvinferConfig::ClassAttributes*)>;

template <typename Struct>
auto IntKey(int Struct::*member, int low, int high = kMaxInt) {
  return [=](const Value& value, Struct* out) -> Status {
    SG_ASSIGN_OR_RETURN(out->*member, ToInt(value, value.text, low, high));
    return OkStatus();
  };
}

template <typename Struct>
auto DoubleKey(double Struct::*member, double low, double high) {
  return [=](const Value& value, Struct* out) -> Status {
    SG_ASSIGN_OR_RETURN(out->*member, ToDouble(value, value.text, low, high));
    return OkStatus();
  };
}

Setter BoolKey(bool NvinferConfig::*member) {
  return [=](const Value& value, NvinferConfig* config) -> Status {
    SG_ASSIGN_OR_RETURN(config->*member, ToBool(value));
    return OkStatus();
  };
}

Setter StringKey(std::string NvinferConfig::*member) {
  return [=](const Value& value, NvinferConfig* config) -> Status {
    config->*member = UnescapeKeyFileValue(value.text);
    return OkStatus();
  };
}

Setter IntListKey(std::vector<int> NvinferConfig::*member, int low) {
  return [=](const Value& value, NvinferConfig* config) -> Status {
    (config->*member).clear();
    for (const std::string& part : SplitKeyFileList(value.text)) {
      SG_ASSIGN_OR_RETURN(const int number, ToInt(value, part, low, kMaxInt));
      (config->*member).push_back(number);
    }
    return OkStatus();
  };
}

Status SetOffsets(const Value& value, NvinferConfig* config) {
  config->offsets.clear();
  for (const std::string& part : SplitKeyFileList(value.text)) {
    SG_ASSIGN_OR_RETURN(const double offset, ToDouble(value, part, -INFINITY, INFINITY));
    config->offsets.push_back(offset);
  }
  return OkStatus();
}

Status SetOutputNames(const Value& value, NvinferConfig* config) {
  config->output_blob_names.clear();
  for (const std::string& part : SplitKeyFileList(value.text)) {
    config->output_blob_names.push_back(UnescapeKeyFileValue(part));
  }
  return OkStatus();
}

const std::map<std::string_view, Setter>& PropertyKeys() {
  using C = NvinferConfig;
  static const std::map<std::string_view, Setter> keys = {
      {"onnx-file", StringKey(&C::onnx_file)},
      {"model-engine-file", StringKey(&C::model_engine_file)},
      {"labelfile-path", StringKey(&C::labelfile_path)},
      {"custom-lib-path", StringKey(&C::custom_lib_path)},
      {"parse-bbox-func-name", StringKey(&C::parse_bbox_func_name)},
      {"output-blob-names", SetOutputNames},
      {"net-scale-factor", DoubleKey(&C::net_scale_factor, -INFINITY, INFINITY)},
      {"offsets", SetOffsets},
      {"model-color-format", IntKey(&C::model_color_format, 0, 2)},
      {"batch-size", IntKey(&C::batch_size, 1, kMaxBatchSize)},
      {"network-mode", IntKey(&C::network_mode, 0, 3)},
      {"network-type", IntKey(&C::network_type, 0, 100)},
      {"num-detected-classes", IntKey(&C::num_detected_classes, 0)},
      {"process-mode", IntKey(&C::process_mode, 1, 2)},
      {"interval", IntKey(&C::interval, 0)},
      {"gie-unique-id", IntKey(&C::gie_unique_id, 1)},
      {"cluster-mode", IntKey(&C::cluster_mode, 0, 4)},
      {"maintain-aspect-ratio", BoolKey(&C::maintain_aspect_ratio)},
      {"symmetric-padding", BoolKey(&C::symmetric_padding)},
      {"infer-dims", IntListKey(&C::infer_dims, 1)},
      {"filter-out-class-ids", IntListKey(&C::filter_out_class_ids, 0)},
  };
  return keys;
}

const std::map<std::string_view, ClassSetter>& ClassKeys() {
  using A = NvinferConfig::ClassAttributes;
  static const std::map<std::string_view, ClassSetter> keys = {
      {"threshold", DoubleKey(&A::pre_cluster_threshold, 0, INFINITY)},  // the old name
      {"pre-cluster-threshold", DoubleKey(&A::pre_cluster_threshold, 0, INFINITY)},
      {"post-cluster-threshold", DoubleKey(&A::post_cluster_threshold, 0, INFINITY)},
      {"nms-iou-threshold", DoubleKey(&A::nms_iou_threshold, 0, 1)},
      {"topk", IntKey(&A::topk, 0)},
      {"detected-min-w", IntKey(&A::detected_min_width, 0)},
      {"detected-min-h", IntKey(&A::detected_min_height, 0)},
      {"detected-max-w", IntKey(&A::detected_max_width, 0)},
      {"detected-max-h", IntKey(&A::detected_max_height, 0)},
      {"roi-top-offset", IntKey(&A::roi_top_offset, 0)},
      {"roi-bottom-offset", IntKey(&A::roi_bottom_offset, 0)},
  };
  return keys;
}

/// Keys that nvinfer reads and that say nothing to the embedded engine: the GPU, TensorRT's build,
/// debugging dumps, other network types, secondary mode, and other clustering.
bool IsOtherNvinferKey(std::string_view key) {
  static constexpr std::string_view kKeys[] = {"gpu-id",
                                               "enable-dla",
                                               "use-dla-core",
                                               "auto-inc-mem",
                                               "max-gpu-mem-per",
                                               "dump-input-tensor",
                                               "dump-output-tensor",
                                               "overwrite-input-tensor",
                                               "overwrite-output-tensor",
                                               "ip-tensor-file",
                                               "op-tensor-files",
                                               "raw-output-file-write",
                                               "tensor-meta-pool-size",
                                               "int8-calib-file",
                                               "workspace-size",
                                               "is-classifier",
                                               "force-implicit-batch-dim",
                                               "output-io-formats",
                                               "layer-device-precision",
                                               "mean-file",
                                               "scaling-filter",
                                               "scaling-compute-hw",
                                               "network-input-order",
                                               "input-tensor-from-meta",
                                               "parse-bbox-instance-mask-func-name",
                                               "parse-segmentation-func-name",
                                               "engine-create-func-name",
                                               "parse-classifier-func-name",
                                               "custom-network-config",
                                               "model-file",
                                               "proto-file",
                                               "uff-file",
                                               "uff-input-order",
                                               "input-dims",
                                               "uff-input-dims",
                                               "uff-input-blob-name",
                                               "tlt-encoded-model",
                                               "tlt-model-key",
                                               "enable-dbscan",
                                               "crop-objects-to-roi-boundary",
                                               "strongly-typed",
                                               "dynamic-properties",
                                               "warmup-engine",
                                               "stabilize-buffer-count",
                                               "classifier-type",
                                               "classifier-threshold",
                                               "classifier-async-mode",
                                               "segmentation-threshold",
                                               "segmentation-output-order",
                                               "output-instance-mask",
                                               "output-tensor-meta",
                                               "disable-output-host-copy",
                                               "secondary-reinfer-interval",
                                               "input-object-min-width",
                                               "input-object-min-height",
                                               "input-object-max-width",
                                               "input-object-max-height",
                                               "operate-on-gie-id",
                                               "operate-on-class-ids",
                                               "eps",
                                               "group-threshold",
                                               "minBoxes",
                                               "dbscan-min-score",
                                               "border-color",
                                               "bg-color"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

std::string Place(const KeyFile& file, int line, const std::string& key) {
  return fmt::format("{}:{} {}", file.where(), line, key);
}

/// Gives each entry of `group` to its setter; others are noted as unknown.
template <typename Keys, typename Struct>
Status ReadGroup(const KeyFile& file, const KeyFile::Group& group, const Keys& keys, Struct* out,
                 std::vector<std::string>* unknown) {
  for (const KeyFile::Entry& entry : group.entries) {
    const auto key = keys.find(entry.key);
    if (key != keys.end()) {
      SG_RETURN_IF_ERROR(key->second(Value{entry.value, Place(file, entry.line, entry.key)}, out));
    } else if (!IsOtherNvinferKey(entry.key)) {
      unknown->push_back(Place(file, entry.line, entry.key));
    }
  }
  return OkStatus();
}

Status ReadClassGroups(const KeyFile& file, NvinferConfig* config) {
  if (const KeyFile::Group* all = file.FindGroup("class-attrs-all")) {
    SG_RETURN_IF_ERROR(
        ReadGroup(file, *all, ClassKeys(), &config->all_classes, &config->unknown_keys));
  }
  for (const KeyFile::Group& group : file.groups()) {
    if (group.name == "property" || group.name == "class-attrs-all") continue;
    if (!group.name.starts_with(kClassPrefix)) {
      config->unknown_keys.push_back(Place(file, group.line, "[" + group.name + "]"));
      continue;
    }
    const std::string place = fmt::format("{}:{} [{}]", file.where(), group.line, group.name);
    int class_id = -1;
    if (!ParseNumber(std::string_view(group.name).substr(kClassPrefix.size()), &class_id) ||
        class_id < 0) {
      return UserError(fmt::format("{}: must be class-attrs-all or class-attrs-NUMBER", place));
    }
    if (class_id >= config->num_detected_classes) {
      return UserError(fmt::format("{}: there is no class {} with num-detected-classes={}", place,
                                   class_id, config->num_detected_classes));
    }
    auto& attributes = config->per_class.try_emplace(class_id, config->all_classes).first->second;
    SG_RETURN_IF_ERROR(ReadGroup(file, group, ClassKeys(), &attributes, &config->unknown_keys));
  }
  return OkStatus();
}

void ResolvePaths(const std::string& config_path, NvinferConfig* config) {
  const std::string folder = ParentFolder(AbsolutePath(config_path));
  for (std::string* path : {&config->onnx_file, &config->model_engine_file, &config->labelfile_path,
                            &config->custom_lib_path}) {
    if (path->empty()) continue;
    *path = AbsolutePath(path->front() == '/' ? *path : JoinPath(folder, *path));
  }
}

bool IsYaml(const std::string& path) { return path.ends_with(".yml") || path.ends_with(".yaml"); }

}  // namespace

const NvinferConfig::ClassAttributes& NvinferConfig::ForClass(int class_id) const {
  const auto found = per_class.find(class_id);
  return found == per_class.end() ? all_classes : found->second;
}

Result<NvinferConfig> ReadNvinferConfig(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  SG_ASSIGN_OR_RETURN(const KeyFile file,
                      IsYaml(path) ? ParseYamlGroups(text, path) : KeyFile::Parse(text, path));
  const KeyFile::Group* property = file.FindGroup("property");
  if (property == nullptr) {
    return UserError(
        fmt::format("{}: has no [property] group, so it is not an nvinfer config", path));
  }
  NvinferConfig config;
  config.unknown_keys = file.notes();
  SG_RETURN_IF_ERROR(ReadGroup(file, *property, PropertyKeys(), &config, &config.unknown_keys));
  if (!config.infer_dims.empty() && config.infer_dims.size() != 3) {
    return UserError(fmt::format("{}: infer-dims has {} numbers, it must be channels;height;width",
                                 path, config.infer_dims.size()));
  }
  if (!config.offsets.empty() && config.offsets.size() != 3 && config.offsets.size() != 1) {
    return UserError(fmt::format("{}: offsets has {} numbers, one for each channel is needed", path,
                                 config.offsets.size()));
  }
  SG_RETURN_IF_ERROR(ReadClassGroups(file, &config));
  ResolvePaths(path, &config);
  return config;
}

Result<ClusterSettings> ClusterSettingsOf(const NvinferConfig& config) {
  ClusterSettings settings;
  settings.mode = config.cluster_mode;
  settings.filtered_classes = config.filter_out_class_ids;
  for (int class_id = 0; class_id < config.num_detected_classes; ++class_id) {
    const NvinferConfig::ClassAttributes& attributes = config.ForClass(class_id);
    ClassThresholds thresholds;
    thresholds.pre_cluster = static_cast<float>(attributes.pre_cluster_threshold);
    thresholds.post_cluster = static_cast<float>(attributes.post_cluster_threshold);
    thresholds.nms_iou = static_cast<float>(attributes.nms_iou_threshold);
    thresholds.topk = attributes.topk;
    if (config.cluster_mode == 0) {
      thresholds.nms_iou = 0.5F;
      thresholds.topk = 20;
    }
    settings.classes.push_back(thresholds);
  }
  if (settings.mode == 0) settings.mode = 2;
  SG_RETURN_IF_ERROR(CheckClusterSettings(settings));
  return settings;
}

}  // namespace sg

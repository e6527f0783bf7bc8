#include "gst/infer_postprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sg {
namespace {

bool IsMatrix(const InferOutput& output, int columns) {
  return output.dims.size() == 2 && output.dims[1] == columns;
}

/// The head without a parser: scores [Q, classes] through a sigmoid and boxes [Q,4], told apart by
/// their name when there are four classes too.
Result<Head> BuiltInHead(const std::vector<InferOutput>& outputs, int classes) {
  const InferOutput* scores = nullptr;
  const InferOutput* boxes = nullptr;
  for (const InferOutput& output : outputs) {
    const bool named_boxes = output.name.find("box") != std::string::npos;
    if (IsMatrix(output, 4) && (named_boxes || classes != 4)) {
      boxes = &output;
    } else if (IsMatrix(output, classes)) {
      scores = &output;
    }
  }
  if (scores != nullptr && boxes != nullptr && scores->dims[0] == boxes->dims[0]) {
    Head head;
    head.outputs = {{OutputRole::kScores, scores->name, scores->dims, scores->type},
                    {OutputRole::kBoxes, boxes->name, boxes->dims, boxes->type}};
    head.num_classes = classes;
    return head;
  }
  std::string found;
  for (const InferOutput& output : outputs) {
    found += fmt::format(" {} [{}]", output.name, fmt::join(output.dims, ","));
  }
  return UnsupportedError(fmt::format(
      "no custom-lib-path is given, and the built-in decoder needs outputs [Q,{}] and [Q,4], not{}",
      classes, found));
}

}  // namespace

Box ToMuxSpace(const Box& box, const FrameSpace& space) {
  const Placement& place = space.placement;
  const auto map = [](float value, int offset, int size, int mux_size) {
    const double mapped = (static_cast<double>(value) - offset) * mux_size / size;
    return std::clamp(mapped, 0.0, static_cast<double>(mux_size - 1));
  };
  const double left = map(box.left, place.left, place.width, space.mux_width);
  const double top = map(box.top, place.top, place.height, space.mux_height);
  const double right = map(box.left + box.width, place.left, place.width, space.mux_width);
  const double bottom = map(box.top + box.height, place.top, place.height, space.mux_height);
  Box out = box;
  out.left = static_cast<float>(left);
  out.top = static_cast<float>(top);
  out.width = static_cast<float>(right - left);
  out.height = static_cast<float>(bottom - top);
  return out;
}

Result<Postprocessor> Postprocessor::Create(const NvinferConfig& config,
                                            const InferEngine& engine) {
  Postprocessor post;
  post.config_ = config;
  post.outputs_ = engine.outputs();
  post.network_ = {static_cast<unsigned>(engine.input_width()),
                   static_cast<unsigned>(engine.input_height()), 3};
  if (config.num_detected_classes < 1) {
    return UserError("num-detected-classes is missing or 0; a detector has at least one class");
  }
  SG_ASSIGN_OR_RETURN(post.cluster_, ClusterSettingsOf(config));
  for (int id = 0; id < config.num_detected_classes; ++id) {
    const NvinferConfig::ClassAttributes& attributes = config.ForClass(id);
    post.pre_cluster_.push_back(static_cast<float>(attributes.pre_cluster_threshold));
    post.post_cluster_.push_back(static_cast<float>(attributes.post_cluster_threshold));
  }
  if (!config.labelfile_path.empty()) {
    SG_ASSIGN_OR_RETURN(post.labels_, ReadLabelFile(config.labelfile_path));
  }
  if (!config.custom_lib_path.empty()) {
    if (config.parse_bbox_func_name.empty()) {
      return UserError("custom-lib-path is given without parse-bbox-func-name");
    }
    SG_ASSIGN_OR_RETURN(post.parser_,
                        ParserLibrary::Load(config.custom_lib_path, config.parse_bbox_func_name));
  } else {
    SG_ASSIGN_OR_RETURN(post.head_, BuiltInHead(post.outputs_, config.num_detected_classes));
  }
  return post;
}

Result<std::vector<Box>> Postprocessor::Run(const std::vector<const void*>& outputs,
                                            const FrameSpace& space) {
  std::vector<TensorView> views;
  views.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    views.push_back({outputs_[i].name.c_str(), outputs_[i].dims, outputs_[i].type, outputs[i]});
  std::vector<Box> boxes;
  if (parser_.has_value()) {
    std::vector<NvDsInferLayerInfo> layers;
    layers.reserve(views.size());
    for (const TensorView& view : views) layers.push_back(DescribeOutput(view));
    if (!parser_->Parse(layers, network_, DetectionParams(pre_cluster_, post_cluster_), &boxes)) {
      return InternalError(
          fmt::format("{} of {} failed", parser_->function_name(), parser_->path()));
    }
  } else {
    const DecodeSettings settings = {static_cast<int>(network_.width),
                                     static_cast<int>(network_.height), pre_cluster_};
    SG_ASSIGN_OR_RETURN(boxes, DecodeHead(head_, views, settings));
  }
  std::vector<Box> attached;
  for (const Box& box : Cluster(std::move(boxes), cluster_)) {
    const Box scaled = ToMuxSpace(box, space);
    if (Attached(scaled, space)) attached.push_back(scaled);
  }
  return attached;
}

bool Postprocessor::Attached(const Box& box, const FrameSpace& space) const {
  const NvinferConfig::ClassAttributes& limits = config_.ForClass(box.class_id);
  if (box.width < limits.detected_min_width || box.height < limits.detected_min_height) {
    return false;
  }
  if (limits.detected_max_width > 0 && box.width > limits.detected_max_width) return false;
  if (limits.detected_max_height > 0 && box.height > limits.detected_max_height) return false;
  return box.top >= limits.roi_top_offset &&
         box.top + box.height <= space.mux_height - limits.roi_bottom_offset;
}

}  // namespace sg

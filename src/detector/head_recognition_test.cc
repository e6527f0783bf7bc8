#include "detector/head_recognition.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sg {
namespace {

OnnxTensor Tensor(const std::string& name, const std::vector<int>& dims,
                  const std::string& type = "float32") {
  OnnxTensor tensor;
  tensor.name = name;
  tensor.elem_type = type;
  tensor.has_shape = true;
  for (const int dim : dims) {
    OnnxDim axis;
    if (dim >= 0) axis.value = dim;
    tensor.dims.push_back(axis);
  }
  return tensor;
}

struct Asked {
  std::vector<OnnxTensor> outputs;
  int labels = 80;
  std::string architecture = {};
  int size = 640;
  std::map<std::string, OutputTrace> traces = {};
  std::map<std::string, std::string> metadata = {};
  std::string path = "model.onnx";
  std::string wanted = {};
  std::vector<OnnxTensor> inputs = {};
};

Result<std::vector<HeadCandidate>> Ask(const Asked& asked) {
  OnnxSummary onnx;
  onnx.path = asked.path;
  onnx.inputs = asked.inputs;
  onnx.outputs = asked.outputs;
  onnx.metadata = asked.metadata;
  const Json config = Json::object();
  return RecogniseHead(
      {onnx, asked.traces, config, asked.architecture, asked.labels, asked.size, asked.size},
      asked.wanted);
}

/// The families that fit, in order; or the error's message.
std::vector<std::string> Families(const Asked& asked) {
  const auto candidates = Ask(asked);
  if (!candidates.ok()) return {candidates.error().message};
  std::vector<std::string> names;
  for (const HeadCandidate& candidate : *candidates) names.push_back(candidate.head.family);
  return names;
}

using Names = std::vector<std::string>;

TEST(RecogniseHead, ColumnsOfYoloRowsAreCountedByLayoutAndObjectness) {
  EXPECT_EQ(Families({{Tensor("output0", {-1, 84, 8400})}}), Names{"yolo-v8"});
  EXPECT_EQ(Families({{Tensor("output0", {-1, 8400, 84})}}), Names{"yolo-v8-rows"});
  EXPECT_EQ(Families({{Tensor("output0", {-1, 5, 8400})}, 1}), Names{"yolo-v8"});
  EXPECT_EQ(Families({{Tensor("output", {-1, 25200, 85})}}), Names{"yolo-v5"});
  EXPECT_EQ(Families({.outputs = {Tensor("output0", {1, 84, 2100})}, .size = 320}),
            Names{"yolo-v8"});
}

TEST(RecogniseHead, TheWrongNumberOfLabelsIsRefusedWithBothNumbers) {
  const Names said = Families({{Tensor("output0", {-1, 84, 8400})}, 6});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("6 labels"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("80 classes"), std::string::npos) << said[0];
}

TEST(RecogniseHead, AnAxisThatCouldBeEitherIsAmbiguousUntilHeadNamesIt) {
  Asked asked{.outputs = {Tensor("output0", {1, 84, 84})}, .size = 64};
  EXPECT_EQ(Families(asked), (Names{"yolo-v8", "yolo-v8-rows"}));
  asked.wanted = "yolo-v8-rows";
  EXPECT_EQ(Families(asked), Names{"yolo-v8-rows"});
  asked.wanted = "detr-sigmoid";
  EXPECT_NE(Families(asked)[0].find("what fits: yolo-v8, yolo-v8-rows"), std::string::npos);
}

TEST(RecogniseHead, TheGraphTellsYoloxFromV8AndItsGridFromNone) {
  Asked asked{{Tensor("output", {1, 8400, 85})}};
  // Nothing but the shape: 80 classes with an objectness, the grid in the graph or not.
  EXPECT_EQ(Families(asked), (Names{"yolox", "yolox-grid"}));
  OutputTrace trace;
  trace.makers = trace.tail = {"Sigmoid", "Conv"};
  trace.conv_channels = {1, 4, 80};
  asked.traces["output"] = trace;
  EXPECT_EQ(Families(asked), Names{"yolox-grid"});
  asked.traces["output"].tail = {"Sigmoid", "Exp", "Mul", "Add"};
  EXPECT_EQ(Families(asked), Names{"yolox"});
}

TEST(RecogniseHead, RowsOfSixAreFinalWhenTheGraphChooses) {
  Asked asked{{Tensor("output0", {1, 300, 6})}};
  EXPECT_EQ(Families(asked), (Names{"end-to-end", "end-to-end-unit"}));
  asked.metadata = {{"task", "detect"}};
  EXPECT_EQ(Families(asked), Names{"end-to-end"});
  Asked dense{{Tensor("output", {1, 8400, 6})}, 2};
  OutputTrace trace;
  trace.makers = trace.tail = {"ArgMax", "ReduceMax", "Mul"};
  dense.traces["output"] = trace;
  EXPECT_EQ(Families(dense), (Names{"yolo-best-rows", "yolo-best-rows-unit"}));
  EXPECT_TRUE((*Ask(dense))[0].head.IsDense());
  EXPECT_FALSE((*Ask(asked))[0].head.IsDense());
  // Two classes and no choice: plain rows.
  dense.traces["output"].makers = dense.traces["output"].tail = {"Sigmoid", "Mul"};
  EXPECT_EQ(Families(dense), Names{"yolo-v8-rows"});
}

TEST(RecogniseHead, DetrIsReadByItsColumnsAndItsGraph) {
  const std::vector<OnnxTensor> outputs = {Tensor("logits", {-1, 100, 92}),
                                           Tensor("pred_boxes", {-1, 100, 4})};
  EXPECT_EQ(Families({outputs, 91, "DetrForObjectDetection"}), Names{"detr-softmax"});
  EXPECT_EQ(Families({outputs, 91}), Names{"detr-softmax"});
  EXPECT_EQ(Families({outputs, 92}), Names{"detr-sigmoid"});
  // RF-DETR's own export.
  EXPECT_EQ(Families({{Tensor("dets", {1, 300, 4}), Tensor("labels", {1, 300, 91})}, 91}),
            Names{"detr-sigmoid"});
  Asked activated{outputs, 92};
  activated.traces["logits"].makers = {"Sigmoid"};
  activated.traces["pred_boxes"].makers = {"Sigmoid"};
  const auto found = Ask(activated);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].head.activation, Activation::kNone);
}

TEST(RecogniseHead, BoxesThatTheGraphComputesFurtherHaveSeveralReadings) {
  Asked asked{{Tensor("logits", {1, 300, 80}), Tensor("pred_boxes", {1, 300, 4})}};
  asked.traces["logits"].makers = {"Conv"};
  asked.traces["pred_boxes"].makers = {"Mul"};
  const auto found = Ask(asked);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 4U);
}

TEST(RecogniseHead, OutputsOfTheirOwnAreTakenByNameAndType) {
  const std::vector<OnnxTensor> rtdetr = {Tensor("labels", {-1, 300}, "int64"),
                                          Tensor("boxes", {-1, 300, 4}),
                                          Tensor("scores", {-1, 300})};
  Asked asked{.outputs = rtdetr, .inputs = {Tensor("orig_target_sizes", {-1, 2}, "int64")}};
  EXPECT_EQ(Families(asked), Names{"labels-boxes-scores"});
  asked.inputs.clear();
  EXPECT_EQ(Families(asked).size(), 3U);
  EXPECT_EQ(
      Families({{Tensor("num_dets", {-1, 1}, "int32"), Tensor("det_boxes", {-1, 100, 4}),
                 Tensor("det_scores", {-1, 100}), Tensor("det_classes", {-1, 100}, "int32")}}),
      (Names{"efficient-nms", "efficient-nms-unit"}));
  EXPECT_EQ(
      Families({{Tensor("num_detections", {-1, 1}, "int32"), Tensor("nmsed_boxes", {-1, 200, 4}),
                 Tensor("nmsed_scores", {-1, 200}), Tensor("nmsed_classes", {-1, 200})}}),
      (Names{"batched-nms", "batched-nms-pixels"}));
  EXPECT_EQ(
      Families({{Tensor("detection_boxes", {-1, 100, 4}), Tensor("detection_classes", {-1, 100}),
                 Tensor("detection_scores", {-1, 100}), Tensor("num_detections", {-1})}}),
      (Names{"tf-detection", "efficientdet-tao"}));
  EXPECT_EQ(Families({{Tensor("dets", {-1, 100, 5}), Tensor("labels", {-1, 100}, "int64")}}),
            (Names{"dets-labels", "dets-labels-unit"}));
}

TEST(RecogniseHead, SelectionsAndGridsAndLevelsAreFound) {
  EXPECT_EQ(Families({{Tensor("selected_indices", {-1, 3}, "int64"), Tensor("boxes", {1, 8400, 4}),
                       Tensor("scores", {1, 80, 8400})}})
                .size(),
            5U);
  EXPECT_EQ(Families({{Tensor("scores", {1, 8400, 80}), Tensor("boxes", {1, 8400, 4})}})[0],
            "yolo-nas");
  EXPECT_EQ(Families({.outputs = {Tensor("output_cov/Sigmoid:0", {-1, 3, 40, 40}),
                                  Tensor("output_bbox/BiasAdd:0", {-1, 12, 40, 40})},
                      .labels = 3}),
            Names{"detectnet-v2"});
  EXPECT_EQ(Families({{Tensor("output", {1, 3598, 112})}, 80, "", 416}), Names{"nanodet"});
  std::vector<OnnxTensor> levels;
  for (const int stride : {8, 16, 32}) {
    levels.push_back(Tensor("cls_" + std::to_string(stride), {1, 80, 640 / stride, 640 / stride}));
    levels.push_back(Tensor("bbox_" + std::to_string(stride), {1, 4, 640 / stride, 640 / stride}));
  }
  EXPECT_EQ(Families({levels}), (Names{"rtmdet", "rtmdet-strides"}));
  std::vector<OnnxTensor> anchors;
  for (const int stride : {32, 16, 8})
    anchors.push_back(Tensor("out" + std::to_string(stride), {1, 255, 640 / stride, 640 / stride}));
  EXPECT_EQ(Families({anchors}), (Names{"yolo-v3", "yolo-v4", "yolo-v5-raw", "yolo-v7-raw"}));
  EXPECT_EQ(Families({.outputs = anchors, .path = "/m/yolov4.onnx"}), Names{"yolo-v4"});
}

}  // namespace
}  // namespace sg

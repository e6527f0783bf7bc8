#include "detector/task_gate.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

/// The message of the refusal; empty when it passes.
std::string Refusal(const std::string& architecture, const std::string& tag,
                    const std::vector<std::string>& files, const Json& more = Json::object()) {
  Json config = more;
  if (!architecture.empty()) config["architectures"] = {architecture};
  TaskEvidence evidence{"org/name", &config, tag, files, "", false};
  const Status status = CheckTask(evidence);
  return status.ok() ? "" : status.error().message;
}

const std::vector<std::string> kOnnx = {"config.json", "onnx/model.onnx"};

TEST(TaskGate, DetectorsPass) {
  for (const char* name :
       {"DetrForObjectDetection", "ConditionalDetrForObjectDetection", "RTDetrForObjectDetection",
        "RTDetrV2ForObjectDetection", "DFineForObjectDetection", "YolosForObjectDetection",
        "RfDetrForObjectDetection", "DeformableDetrForObjectDetection", "DetaForObjectDetection",
        "LwDetrForObjectDetection", "TableTransformerForObjectDetection",
        "Deimv2ForObjectDetection", "DabDetrForObjectDetection", "PPDocLayoutV3ForObjectDetection",
        "NextYearsForObjectDetection", "SomeForConditionalDetection"}) {
    EXPECT_EQ(Refusal(name, "object-detection", kOnnx), "") << name;
  }
}

TEST(TaskGate, OtherTasksAreRefusedByName) {
  const std::pair<const char*, const char*> kTasks[] = {
      {"ResNetForImageClassification", "image classification"},
      {"SegformerForSemanticSegmentation", "semantic segmentation"},
      {"Mask2FormerForUniversalSegmentation", "segmentation"},
      {"VitPoseForPoseEstimation", "pose estimation"},
      {"DPTForDepthEstimation", "depth estimation"},
      {"LlamaForCausalLM", "a language model"},
      {"GPT2LMHeadModel", "a language model"},
      {"BertForMaskedLM", "masked language model"},
      {"WhisperForConditionalGeneration", "generation"},
      {"SuperPointForKeypointDetection", "keypoint"},
      {"DFineModel", "a model without a task's head"},
      {"TableTransformerModel", "a model without a task's head"},
      {"ResNetBackbone", "a backbone"},
      {"VitMatteForImageMatting", "image matting"},
      {"CLIPSegForImageSegmentation", "image segmentation"},
      {"NewForRouteFinding", "route finding"},
      {"NeverHeardOf", "not an object detector that is known"}};
  for (const auto& [name, words] : kTasks) {
    const std::string message = Refusal(name, "", kOnnx);
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
}

TEST(TaskGate, TheArchitectureWinsOverTheHubsWord) {
  EXPECT_EQ(Refusal("DetrForObjectDetection", "image-feature-extraction", kOnnx), "");
  EXPECT_NE(Refusal("ResNetForImageClassification", "object-detection", kOnnx), "");
}

TEST(TaskGate, WithoutAnArchitectureTheHubsWordCounts) {
  EXPECT_EQ(Refusal("", "object-detection", kOnnx), "");
  EXPECT_NE(Refusal("", "text-generation", kOnnx).find("text-generation"), std::string::npos);
  EXPECT_EQ(Refusal("", "", kOnnx), "") << "an ONNX's graph tells later";
  EXPECT_NE(Refusal("", "", {"config.json", "model.safetensors"}), "");
}

TEST(TaskGate, TextDetectorsSayWhatToGiveInstead) {
  for (const char* name : {"GroundingDinoForObjectDetection", "OwlViTForObjectDetection",
                           "Owlv2ForObjectDetection", "OmDetTurboForObjectDetection"}) {
    EXPECT_NE(Refusal(name, "", kOnnx).find("text"), std::string::npos) << name;
  }
  EXPECT_NE(Refusal("", "zero-shot-object-detection", kOnnx), "");
}

TEST(TaskGate, CodeOfTheModelsOwnIsNeverRun) {
  const Json code = {{"auto_map", {{"AutoModel", "modeling_x.XModel"}}}};
  EXPECT_NE(Refusal("XForObjectDetection", "", {"model.safetensors", "modeling_x.py"}, code)
                .find("auto_map"),
            std::string::npos);
  EXPECT_EQ(Refusal("XForObjectDetection", "", kOnnx, code), "") << "an ONNX needs none";
}

TEST(TaskGate, PicklesAloneAreRefused) {
  for (const char* file : {"pytorch_model.bin", "best.pt", "model.pth", "x.ckpt", "x.pkl"}) {
    EXPECT_NE(Refusal("XForObjectDetection", "", {"config.json", file}).find("SafeTensors"),
              std::string::npos)
        << file;
  }
  EXPECT_EQ(Refusal("XForObjectDetection", "", {"pytorch_model.bin", "model.safetensors"}), "");
}

TEST(TaskGate, ModelTypeStandsInForTheArchitecture) {
  EXPECT_EQ(Refusal("", "", kOnnx, {{"model_type", "rt_detr_v2"}}), "");
  EXPECT_NE(Refusal("", "image-segmentation", kOnnx, {{"model_type", "detr"}}), "");
  EXPECT_EQ(ArchitectureOf({{"model_type", "rt_detr_v2"}}), "RTDetrV2ForObjectDetection");
  EXPECT_EQ(ArchitectureOf({{"architectures", nullptr}, {"model_type", "detr"}}),
            "DetrForObjectDetection");
  EXPECT_EQ(ArchitectureOf({{"model_type", "resnet"}}), "");
  EXPECT_EQ(ArchitectureOf({{"model_type", ""}}), "");
  EXPECT_NE(Refusal("", "", kOnnx, {{"model_type", "grounding-dino"}}).find("--prompt"),
            std::string::npos);
}

TEST(TaskGate, TheFirstDetectorOfSeveralArchitecturesCounts) {
  EXPECT_EQ(ArchitectureOf({{"architectures", {"DetrModel", "DetrForObjectDetection"}}}),
            "DetrForObjectDetection");
  EXPECT_EQ(ArchitectureOf({{"architectures", {3, "DetrModel", "BertForMaskedLM"}}}), "DetrModel");
}

TEST(TaskGate, ANameThatSaysNothingPassesByTheHubsWord) {
  EXPECT_EQ(Refusal("YOLOv10", "object-detection", kOnnx), "");
  EXPECT_TRUE(CheckArchitecture("YOLOv10", "x").ok());
  EXPECT_NE(Refusal("DetrModel", "object-detection", kOnnx), "") << "a bare backbone stays one";
}

TEST(TaskGate, OnnxMetadataNamesTheTask) {
  EXPECT_TRUE(CheckOnnxTask({}, "a.onnx").ok());
  EXPECT_TRUE(CheckOnnxTask({{"task", "detect"}, {"author", "Ultralytics"}}, "a.onnx").ok());
  for (const auto& [name, words] :
       {std::pair("segment", "instance segmentation"),
        std::pair("classify", "image classification"), std::pair("pose", "pose estimation"),
        std::pair("obb", "rotated boxes"), std::pair("text-generation", "text-generation")}) {
    const Status status = CheckOnnxTask({{"task", name}}, "a.onnx");
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
  }
}

TEST(TaskGate, OtherFilesAreNoPickles) {
  EXPECT_EQ(Refusal("XForObjectDetection", "", {"config.json", "openvino_model.bin"}), "")
      << "the selection says that there is no model";
  EXPECT_NE(Refusal("XForObjectDetection", "", {"weights/last.PTH"}).find("weights/last.PTH"),
            std::string::npos);
}

}  // namespace
}  // namespace sg

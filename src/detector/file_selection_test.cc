#include "detector/file_selection.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

std::vector<ListedFile> Listing(const std::vector<std::string>& paths) {
  std::vector<ListedFile> files;
  for (const std::string& path : paths) files.push_back({path, 2500000});
  return files;
}

FileSelection Selected(const std::vector<std::string>& paths, const SelectionWish& wish = {}) {
  const Result<FileSelection> selection = SelectFiles(Listing(paths), wish);
  EXPECT_TRUE(selection.ok()) << selection.error().message;
  return selection.ok() ? *selection : FileSelection{};
}

std::string Refusal(const std::vector<std::string>& paths, const SelectionWish& wish = {}) {
  const Result<FileSelection> selection = SelectFiles(Listing(paths), wish);
  EXPECT_FALSE(selection.ok());
  return selection.ok() ? "" : selection.error().message;
}

/// As transformers.js converts models.
const std::vector<std::string> kConverted = {".gitattributes",        "README.md",
                                             "config.json",           "onnx/model.onnx",
                                             "onnx/model_bnb4.onnx",  "onnx/model_fp16.onnx",
                                             "onnx/model_int8.onnx",  "onnx/model_q4.onnx",
                                             "onnx/model_q4f16.onnx", "onnx/model_quantized.onnx",
                                             "onnx/model_uint8.onnx", "preprocessor_config.json",
                                             "quantize_config.json"};

TEST(FileSelection, Fp16IsTheDefault) {
  const FileSelection selection = Selected(kConverted);
  EXPECT_EQ(selection.onnx, "onnx/model_fp16.onnx");
  EXPECT_EQ(selection.selection_line,
            "Selected: fp16 (default). All available: [fp16 2.5 MB, fp32 2.5 MB, int8 2.5 MB, int4 "
            "2.5 MB, quantized 2.5 MB]");
  EXPECT_TRUE(selection.weights.empty());
}

TEST(FileSelection, TheOrderHoldsAsVariantsGoMissing) {
  EXPECT_EQ(Selected({"model.onnx", "model_int8.onnx"}).onnx, "model.onnx");
  EXPECT_EQ(Selected({"model_quantized.onnx", "model_int8.onnx", "model_q4.onnx"}).onnx,
            "model_int8.onnx");
  EXPECT_EQ(Selected({"model_quantized.onnx", "model_bnb4.onnx"}).onnx, "model_bnb4.onnx");
  EXPECT_NE(Selected({"model.onnx"}).selection_line.find("(fp16 unavailable)"), std::string::npos);
}

TEST(FileSelection, AVariantOrAFileCanBeAskedFor) {
  EXPECT_EQ(Selected(kConverted, {"x", "int8", ""}).onnx, "onnx/model_int8.onnx");
  EXPECT_EQ(Selected(kConverted, {"x", "model_uint8.onnx", ""}).onnx, "onnx/model_uint8.onnx");
  EXPECT_EQ(Selected(kConverted, {"x", "model_q4f16", ""}).onnx, "onnx/model_q4f16.onnx");
  EXPECT_EQ(Selected(kConverted, {"x", "", "onnx/model_int8.onnx"}).onnx, "onnx/model_int8.onnx");
  EXPECT_NE(Refusal(kConverted, {"x", "fp64", ""}).find("onnx/model_uint8.onnx"),
            std::string::npos);
  EXPECT_NE(Refusal(kConverted, {"x", "", "gone.onnx"}).find("gone.onnx"), std::string::npos);
}

TEST(FileSelection, SeveralModelsAreNotVariantsOfOne) {
  const std::vector<std::string> yolos = {"yolov8n.onnx", "yolov8s.onnx", "yolov8n_fp16.onnx"};
  EXPECT_NE(Refusal(yolos).find("several models"), std::string::npos);
  EXPECT_EQ(Selected(yolos, {"x", "yolov8s.onnx", ""}).onnx, "yolov8s.onnx");
  EXPECT_EQ(Selected(yolos, {"x", "fp16", ""}).onnx, "yolov8n_fp16.onnx");
  EXPECT_NE(Refusal({"encoder_model.onnx", "decoder_model.onnx"}).find("several"),
            std::string::npos);
  EXPECT_EQ(Selected({"model.onnx", "embeddings.onnx"}).onnx, "model.onnx");
}

TEST(FileSelection, OtherFoldersAreLookedAtLast) {
  EXPECT_EQ(Selected({"exports/v1/model.onnx"}).onnx, "exports/v1/model.onnx");
  EXPECT_EQ(Selected({"exports/other.onnx", "onnx/model.onnx"}).onnx, "onnx/model.onnx");
}

TEST(FileSelection, ExternalWeightsComeWithTheirGraph) {
  const FileSelection selection =
      Selected({"onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1",
                "onnx/model_q4.onnx", "onnx/model_q4.onnx_data", "onnx/model.onnx.data"});
  EXPECT_EQ(selection.external,
            (std::vector<std::string>{"onnx/model.onnx_data", "onnx/model.onnx_data_1",
                                      "onnx/model.onnx.data"}));
}

TEST(FileSelection, SafeTensorsOnlyWithoutOnnx) {
  EXPECT_EQ(Selected({"config.json", "model.safetensors", "pytorch_model.bin"}).weights,
            std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(Selected({"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                      "model.safetensors.index.json"})
                .weights.size(),
            3u);
  EXPECT_TRUE(Selected({"model.onnx", "model.safetensors"}).weights.empty());
  EXPECT_NE(Refusal({"config.json", "README.md"}).find("looked for"), std::string::npos);
}

TEST(FileSelection, OnlySmallFilesThatTellSomethingAreConfigs) {
  std::vector<ListedFile> files = Listing({"config.json", "onnx/labels.txt", "README.md",
                                           "tokenizer.json", "coco.names", "src/config.json"});
  files.push_back({"preprocessor_config.json", uint64_t{1} << 30});
  EXPECT_EQ(SelectConfigs(files), (std::vector<std::string>{"config.json", "onnx/labels.txt",
                                                            "README.md", "coco.names"}));
}

TEST(FileSelection, NvinferConfigsAreConfigs) {
  const std::vector<std::string> names = {"nvinfer_config.txt", "nvdsinfer_config.yaml",
                                          "config_infer_primary.txt", "pgie_x_config.yml"};
  std::vector<ListedFile> files = {{"notes.txt", 9}, {"infer.py", 9}, {"infer_big.txt", 5u << 20}};
  for (const std::string& name : names) files.push_back({name, 9});
  EXPECT_EQ(SelectConfigs(files), names);
}

TEST(FileSelection, VariantWordsInNames) {
  EXPECT_EQ(VariantOfFileName("model.onnx"), "fp32");
  EXPECT_EQ(VariantOfFileName("Model-FP16.onnx"), "fp16");
  EXPECT_EQ(VariantOfFileName("resnet50_trafficcamnet_rtdetr.fp16.onnx"), "fp16");
  EXPECT_EQ(VariantOfFileName("yolov8n_uint8.onnx"), "int8");
  EXPECT_EQ(VariantOfFileName("int80.onnx"), "fp32");
}

}  // namespace
}  // namespace sg

#include "detector/file_selection.h"

#include <gtest/gtest.h>

#include "detector/variant_name.h"

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
  std::vector<ListedFile> files =
      Listing({"config.json", "onnx/labels.txt", "README.md", "tokenizer.json", "coco.names",
               "src/config.json", "data.yaml", "class_names.txt"});
  files.push_back({"preprocessor_config.json", uint64_t{1} << 30});
  EXPECT_EQ(SelectConfigs(files),
            (std::vector<std::string>{"config.json", "onnx/labels.txt", "README.md", "coco.names",
                                      "data.yaml", "class_names.txt"}));
}

TEST(FileSelection, NvinferConfigsAreConfigs) {
  const std::vector<std::string> names = {"nvinfer_config.txt", "nvdsinfer_config.yaml",
                                          "config_infer_primary.txt", "pgie_x_config.yml"};
  std::vector<ListedFile> files = {{"notes.txt", 9}, {"infer.py", 9}, {"infer_big.txt", 5u << 20}};
  for (const std::string& name : names) files.push_back({name, 9});
  EXPECT_EQ(SelectConfigs(files), names);
}

/// What a file holds, by path; the network is the same unless `signature` differs.
OnnxContents Holds(const std::string& variant, const std::string& signature = "x -> y") {
  OnnxContents contents;
  contents.variant = variant;
  contents.weights = variant == "fp32" ? "float32 weights" : "float16 weights";
  contents.signature = signature;
  contents.parameters = 1000;
  return contents;
}

Result<FileSelection> SelectOf(const std::vector<ListedFile>& files,
                               std::map<std::string, OnnxContents> contents,
                               const std::string& variant = "") {
  SelectionWish wish{"x", variant, ""};
  wish.contents = std::move(contents);
  return SelectFiles(files, wish);
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::vector<ListedFile> kThree = {{"onnx/model.onnx", 40000000},
                                        {"onnx/model_fp16.onnx", 40000000},
                                        {"onnx/model_quantized.onnx", 10000000}};

TEST(FileSelection, ContentsDecideWhereNamesLie) {
  const std::map<std::string, OnnxContents> lying = {{"onnx/model.onnx", Holds("fp32")},
                                                     {"onnx/model_fp16.onnx", Holds("fp32")}};
  FileSelection selection = *SelectOf(kThree, lying);
  EXPECT_EQ(selection.onnx, "onnx/model.onnx");
  EXPECT_EQ(selection.selection_line,
            "Selected: fp32 (fp16 unavailable). All available: [fp32 40.0 MB, quantized 10.0 MB]");
  EXPECT_EQ(selection.notes,
            std::vector<std::string>{"model_fp16.onnx is named fp16 and holds float32 weights."});
  // Asked for, it is taken for lack of a better one, and called what it is.
  selection = *SelectOf(kThree, lying, "fp16");
  EXPECT_EQ(selection.onnx, "onnx/model_fp16.onnx");
  EXPECT_TRUE(Has(selection.selection_line, "Selected: fp32 (by its name fp16)."));
  // The better one.
  selection = *SelectOf(
      kThree, {{"onnx/model.onnx", Holds("fp16")}, {"onnx/model_fp16.onnx", Holds("fp32")}},
      "fp16");
  EXPECT_EQ(selection.onnx, "onnx/model.onnx");
  EXPECT_TRUE(Has(selection.selection_line, "Selected: fp16 (asked for)."));
  EXPECT_EQ(selection.notes.size(), 2u);
}

TEST(FileSelection, AFileThatWasLookedIntoIsNotFetchedAnewForNothing) {
  // Only the first choice is here; the rest goes by names and sizes.
  const FileSelection same = *SelectOf(kThree, {{"onnx/model_fp16.onnx", Holds("fp32")}});
  EXPECT_EQ(same.onnx, "onnx/model_fp16.onnx");
  EXPECT_EQ(same.variant, "fp32");
  std::vector<ListedFile> half = kThree;
  half[0].size_bytes = 20300000;
  EXPECT_EQ(SelectOf(half, {{"onnx/model_fp16.onnx", Holds("fp32")}})->onnx, "onnx/model.onnx")
      << "half the size may be float16";
  EXPECT_EQ(SelectOf(kThree, {{"onnx/model_fp16.onnx", Holds("fp32")}}, "int8")->onnx,
            "onnx/model_quantized.onnx");
  SelectionWish wish{"x", "", ""};
  wish.contents = {{"onnx/model_fp16.onnx", Holds("fp32")}};
  wish.known_only = true;
  EXPECT_EQ(SelectFiles(half, wish)->onnx, "onnx/model_fp16.onnx");
  EXPECT_TRUE(Has(SelectFiles(half, wish)->selection_line, "(fp16 not looked into)"));
}

TEST(FileSelection, NamesThatSayNothingAreToldApartByContents) {
  const std::vector<ListedFile> two = {{"model.onnx", 80000000}, {"model_1.onnx", 40000000}};
  EXPECT_EQ(SelectOf(two, {})->onnx, "model.onnx") << "by names alone";
  EXPECT_EQ(SelectOf(two, {{"model.onnx", Holds("fp32")}})->onnx, "model_1.onnx")
      << "it may be float16";
  const FileSelection selection =
      *SelectOf(two, {{"model.onnx", Holds("fp32")}, {"model_1.onnx", Holds("fp16")}});
  EXPECT_EQ(selection.onnx, "model_1.onnx");
  EXPECT_EQ(selection.selection_line,
            "Selected: fp16 (default). All available: [fp16 40.0 MB, fp32 80.0 MB]");
  EXPECT_EQ(selection.notes, std::vector<std::string>{"model_1.onnx holds float16 weights."});
  EXPECT_EQ(SelectOf({{"net (1).onnx", 4}, {"net.onnx", 8}},
                     {{"net.onnx", Holds("fp32")}, {"net (1).onnx", Holds("fp16")}})
                ->onnx,
            "net (1).onnx");
}

TEST(FileSelection, NumberedFilesOfOtherNetworksAreOtherModels) {
  const std::vector<ListedFile> two = {{"model.onnx", 80}, {"model_1.onnx", 40}};
  const FileSelection selection =
      *SelectOf(two, {{"model.onnx", Holds("fp32")}, {"model_1.onnx", Holds("fp16", "z -> y")}});
  EXPECT_EQ(selection.onnx, "model.onnx");
  EXPECT_TRUE(Has(selection.notes.at(0), "model_1.onnx (fp16, ")) << selection.notes.at(0);
  OnnxContents smaller = Holds("fp16");
  smaller.parameters = 600;
  EXPECT_EQ(SelectOf(two, {{"model.onnx", Holds("fp32")}, {"model_1.onnx", smaller}})->onnx,
            "model.onnx");
  // Two of one type are two trainings.
  const Result<FileSelection> refused =
      SelectOf({{"net_1.onnx", 80}, {"net_2.onnx", 80}},
               {{"net_1.onnx", Holds("fp32")}, {"net_2.onnx", Holds("fp32")}});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(Has(refused.error().message, "several models"));
  EXPECT_TRUE(Has(refused.error().message, "net_2.onnx (fp32, ")) << refused.error().message;
}

TEST(FileSelection, FilesThatNeedOneRuntimeComeLast) {
  OnnxContents foreign = Holds("fp16");
  foreign.foreign_operators = {"Gelu (com.microsoft)"};
  const FileSelection selection = *SelectOf(kThree, {{"onnx/model_fp16.onnx", foreign}});
  EXPECT_EQ(selection.onnx, "onnx/model.onnx");
  EXPECT_EQ(selection.selection_line,
            "Selected: fp32 (fp16 not usable). All available: [fp32 40.0 MB, quantized 10.0 MB, "
            "fp16 40.0 MB]");
  ASSERT_EQ(selection.notes.size(), 1u);
  EXPECT_TRUE(Has(selection.notes[0], "model_fp16.onnx was passed over")) << selection.notes[0];
  EXPECT_TRUE(Has(selection.notes[0], "Gelu (com.microsoft)"));
  EXPECT_EQ(SelectOf(kThree, {{"onnx/model_fp16.onnx", foreign}}, "fp16")->onnx,
            "onnx/model_fp16.onnx");
  EXPECT_EQ(SelectOf({kThree[1]}, {{"onnx/model_fp16.onnx", foreign}})->onnx,
            "onnx/model_fp16.onnx");
}

TEST(FileSelection, EveryWordOfAVariantIsUnderstood) {
  const std::pair<const char*, const char*> kWords[] = {
      {"uint8", "onnx/model_uint8.onnx"}, {"INT8", "onnx/model_int8.onnx"},
      {"q4f16", "onnx/model_q4f16.onnx"}, {"int4", "onnx/model_q4.onnx"},
      {"bnb4", "onnx/model_bnb4.onnx"},   {"quantized", "onnx/model_quantized.onnx"},
      {"fp32", "onnx/model.onnx"}};
  for (const auto& [word, path] : kWords) {
    EXPECT_EQ(Selected(kConverted, {"x", word, ""}).onnx, path) << word;
  }
  EXPECT_EQ(Selected({"fp16/model.onnx", "fp32/model.onnx", "onnx_int8/model.onnx"}).onnx,
            "fp16/model.onnx");
  EXPECT_TRUE(Has(Selected({"model_fp8.onnx", "model_bf16.onnx"}).selection_line,
                  "Selected: bf16 (fp16 unavailable). All available: [bf16 2.5 MB, fp8 2.5 MB]"));
}

TEST(FileSelection, WhatTheSourceNamesIsTakenOrRefused) {
  EXPECT_EQ(
      Selected({"a.safetensors", "b.safetensors", "m.onnx"}, {"x", "", "b.safetensors"}).weights,
      std::vector<std::string>{"b.safetensors"});
  EXPECT_TRUE(Has(Refusal({"config.json", "model.onnx"}, {"x", "", "config.json"}), "config.json"));
  EXPECT_EQ(Selected({".cache/m.onnx", "model.onnx"}, {"x", "", ".cache/m.onnx"}).onnx,
            ".cache/m.onnx");
  EXPECT_EQ(Selected({".cache/m_fp16.onnx", "m.onnx"}).onnx, "m.onnx");
  EXPECT_TRUE(Has(Refusal({"model.safetensors"}, {"x", "fp16", ""}), "there is no ONNX"));
  EXPECT_TRUE(Has(Refusal({"a.safetensors", "b.safetensors"}), "a.safetensors, b.safetensors"));
}

TEST(VariantName, WordsAreFoundWhereverTheyStand) {
  struct Case {
    const char* path;
    const char* model;
    const char* variant;
  };
  for (const Case& c :
       {Case{"model.onnx", "model", ""}, Case{"onnx/model_fp16.onnx", "model", "fp16"},
        Case{"fp16/model.onnx", "model", "fp16"}, Case{"onnx/int8.onnx", "model", "int8"},
        Case{"model_q4f16.onnx", "model", "int4"}, Case{"model_int8_fp16.onnx", "model", "int8"},
        Case{"Model-Half.onnx", "model", "fp16"},
        Case{"model_qint8_avx512_vnni.onnx", "model", "int8"}, Case{"model_O3.onnx", "model", ""},
        Case{"model_O4.onnx", "model", "fp16"}, Case{"model.quant.onnx", "model", "quantized"},
        Case{"small/int8/yolo-n.onnx", "small/yolo_n", "int8"}, Case{"halfway.onnx", "halfway", ""},
        Case{"resnet50_trafficcamnet_rtdetr.fp16.onnx", "resnet50_trafficcamnet_rtdetr", "fp16"},
        Case{"int80.onnx", "int80", ""}}) {
    const VariantName name = ReadVariantName(c.path);
    EXPECT_EQ(name.model, c.model) << c.path;
    EXPECT_EQ(name.variant, c.variant) << c.path;
  }
}

}  // namespace
}  // namespace sg

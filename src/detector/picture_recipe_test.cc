#include "detector/picture_recipe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <clocale>

#include "base/files.h"
#include "detector/card_parts.h"

namespace sg {
namespace {

using Fit = PictureRecipe::Fit;
using Padding = PictureRecipe::Padding;

OnnxDim Number(int64_t value) {
  OnnxDim dim;
  if (value >= 0) dim.value = value;
  return dim;
}

/// A folder whose preprocessor's file each test writes, with a graph of 640x480 (width × height).
class PictureRecipeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "picture_recipe_test.XXXXXX";
    folder_ = AbsolutePath(mkdtemp(pattern.data()));
    files_.config_folder = folder_;
    files_.onnx = JoinPath(folder_, "model.onnx");
    Input({-1, 3, 480, 640});
  }
  void TearDown() override {
    std::setlocale(LC_ALL, "C");
    EXPECT_TRUE(RemoveAll(folder_).ok());
  }
  void Input(const std::vector<int64_t>& dims, const std::string& type = "float32") {
    onnx_.path = files_.onnx;
    onnx_.inputs = {{"x", type, true, {}}};
    for (const int64_t dim : dims) onnx_.inputs[0].dims.push_back(Number(dim));
  }
  void Output(const std::string& name, const std::vector<int64_t>& dims) {
    onnx_.outputs.push_back({name, "float32", true, {}});
    for (const int64_t dim : dims) onnx_.outputs.back().dims.push_back(Number(dim));
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(JoinPath(folder_, name), text).ok());
  }
  Result<ModelCard> Try() {
    ModelCard card;
    SG_RETURN_IF_ERROR(FillInput(onnx_, &card));
    SG_RETURN_IF_ERROR(FillPreprocessing({files_, onnx_, config_}, &card));
    return card;
  }
  ModelCard Card() {
    auto card = Try();
    EXPECT_TRUE(card.ok()) << (card.ok() ? "" : card.error().message);
    return card.ok() ? *card : ModelCard();
  }
  ModelCard Transformers(const std::string& json) {
    Write("preprocessor_config.json", json);
    return Card();
  }
  Error Refusal() {
    auto card = Try();
    EXPECT_FALSE(card.ok());
    return card.ok() ? Error{} : card.error();
  }

  std::string folder_;
  ModelFiles files_;
  OnnxSummary onnx_;
  Json config_;
};

std::string AllNotes(const ModelCard& card) {
  std::string text;
  for (const std::string& note : card.notes) text += note + "\n";
  return text;
}

TEST_F(PictureRecipeTest, EverySpellingOfAFixedSizeIsAStretch) {
  for (const char* size :
       {R"({"height": 480, "width": 640})", R"({"width": 640.0, "height": 480.0})", "[480, 640]"}) {
    const ModelCard card =
        Transformers(fmt::format(R"({{"size": {}, "do_normalize": false}})", size));
    EXPECT_EQ(card.preprocessing.resize, ResizeMode::kStretch) << size;
    EXPECT_EQ(card.input_width, 640) << size;
    EXPECT_TRUE(card.notes.empty()) << AllNotes(card);
  }
  Input({-1, 3, -1, -1});
  ModelCard card = Transformers(R"({"size": 512, "do_normalize": false})");
  EXPECT_EQ(card.input_width, 512);
  EXPECT_EQ(card.input_height, 512);
  // Height first: 800 wide, 448 high.
  card = Transformers(R"({"size": {"height": 448, "width": 800}, "do_normalize": false})");
  EXPECT_EQ(card.input_width, 800);
  EXPECT_EQ(card.input_height, 448);
}

TEST_F(PictureRecipeTest, KeptAspectRatiosBecomeALetterboxAndSayWhatDeviates) {
  for (const char* size :
       {R"("size": {"shortest_edge": 800, "longest_edge": 1333})",
        R"("size": {"shortest_edge": 480})", R"("size": {"longest_edge": 640})",
        R"("size": {"max_height": 800, "max_width": 1333})", R"("size": 800, "max_size": 1333)",
        R"("feature_extractor_type": "DetrFeatureExtractor", "size": 800)",
        R"("image_processor_type": "YolosImageProcessorFast")"}) {
    const ModelCard card = Transformers(fmt::format(R"({{{}, "do_normalize": false}})", size));
    EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCorner) << size;
    EXPECT_EQ(card.input_height, 480) << size;
    ASSERT_EQ(card.notes.size(), 1U) << size;
    EXPECT_NE(card.notes[0].find("aspect ratio"), std::string::npos) << card.notes[0];
  }
}

TEST_F(PictureRecipeTest, PaddingToTheInputsOwnSizeNeedsNoNote) {
  for (const char* pad :
       {R"("pad_size": {"height": 480, "width": 640})", R"("pad_size": [480, 640])"}) {
    const ModelCard card = Transformers(fmt::format(
        R"({{"size": {{"longest_edge": 640}}, "do_pad": true, {}, "do_normalize": false}})", pad));
    EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCorner);
    EXPECT_TRUE(card.notes.empty()) << AllNotes(card);
  }
  Input({-1, 3, 640, 640});
  const ModelCard card = Transformers(
      R"({"size": {"longest_edge": 640, "shortest_edge": 640}, "do_pad": true, "pad_size": 640,
          "do_normalize": false, "feature_extractor_type": "ImageFeatureExtractor"})");
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCorner);
  EXPECT_TRUE(card.notes.empty()) << AllNotes(card);
}

TEST_F(PictureRecipeTest, CropsAreSaidAndNotDone) {
  ModelCard card = Transformers(
      R"({"size": {"shortest_edge": 480}, "do_center_crop": true,
          "crop_size": {"height": 480, "width": 640}, "do_normalize": false})");
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCentre);
  EXPECT_NE(AllNotes(card).find("cuts 640x480"), std::string::npos);
  // A crop of the whole is none.
  card = Transformers(R"({"size": [480, 640], "do_center_crop": true, "crop_size": [480, 640],
                          "do_normalize": false})");
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kStretch);
  EXPECT_TRUE(card.notes.empty());
  Write("preprocessor_config.json",
        R"({"size": [960, 960], "do_center_crop": true, "crop_size": [480, 640]})");
  EXPECT_EQ(Refusal().kind, ErrorKind::kUnsupported);
}

TEST_F(PictureRecipeTest, ScaleMeanAndStdInEverySpelling) {
  const auto values = [&](const std::string& keys) {
    return Transformers("{\"size\": [480, 640], " + keys + "}").preprocessing;
  };
  Preprocessing p = values(R"("do_normalize": false)");
  EXPECT_DOUBLE_EQ(p.net_scale_factor, 1.0 / 255);
  p = values(R"("do_normalize": false, "rescale_factor": 1.0)");
  EXPECT_DOUBLE_EQ(p.net_scale_factor, 1);
  p = values(R"("do_normalize": false, "do_rescale": false)");
  EXPECT_DOUBLE_EQ(p.net_scale_factor, 1);
  p = values(R"("image_mean": 0.5, "image_std": [0.5])");
  EXPECT_DOUBLE_EQ(p.net_scale_factor, 1.0 / 127.5);
  EXPECT_EQ(p.offsets, (std::vector<double>{127.5, 127.5, 127.5}));
  p = values(R"("do_rescale": false, "image_mean": [123.675, 116.28, 103.53],
                "image_std": [58.395, 57.12, 57.375])");
  EXPECT_DOUBLE_EQ(p.net_scale_factor, 1);
  EXPECT_EQ(p.front.mean[0], 123.675);
  // A class is silent about what it always does.
  p = values(R"("image_processor_type": "ConditionalDetrImageProcessor")");
  EXPECT_EQ(p.front.std, (std::vector<double>{0.229, 0.224, 0.225}));
  p = values(R"("image_processor_type": "RTDetrImageProcessor")");
  EXPECT_TRUE(p.front.empty());
  p = values(R"("image_processor_type": "RfDetrImageProcessorFast", "do_rescale": false)");
  EXPECT_DOUBLE_EQ(p.net_scale_factor, 1.0 / 255);
  EXPECT_FALSE(p.front.mean.empty());
  p = values(R"("do_flip_channel_order": true, "do_normalize": false)");
  EXPECT_TRUE(p.bgr);
}

TEST_F(PictureRecipeTest, ResampleIsACodeOrAName) {
  for (const auto& [value, notes] :
       {std::pair("2", 0U), std::pair("\"bilinear\"", 0U), std::pair("\"BILINEAR\"", 0U),
        std::pair("\"InterpolationMode.BILINEAR\"", 0U), std::pair("3", 1U), std::pair("9", 1U)}) {
    const ModelCard card = Transformers(
        fmt::format(R"({{"size": [480, 640], "do_normalize": false, "resample": {}}})", value));
    EXPECT_EQ(card.notes.size(), notes) << value;
  }
  EXPECT_NE(AllNotes(Transformers(R"({"size": [480, 640], "do_normalize": false, "resample": 3})"))
                .find("bicubic"),
            std::string::npos);
}

TEST_F(PictureRecipeTest, WrongValuesAreNamedWithTheirKey) {
  for (const auto& [json, word] :
       {std::pair(R"({"size": "big"})", "size"), std::pair(R"({"size": [0, 640]})", "size"),
        std::pair(R"({"size": [480.5, 640]})", "size"),
        std::pair(R"({"size": {"height": -1, "width": 640}})", "size"),
        std::pair(R"({"size": [480, 640], "do_pad": 1})", "do_pad"),
        std::pair(R"({"size": [480, 640], "image_mean": "x"})", "image_mean"),
        std::pair(R"({"size": [480, 640], "image_mean": [0,0,0], "image_std": [1,0,1]})",
                  "image_std"),
        std::pair(R"({"size": [480, 640], "rescale_factor": 0})", "rescale_factor"),
        std::pair(R"([1])", "preprocessor"), std::pair(R"({"size": )", "preprocessor_config")}) {
    Write("preprocessor_config.json", json);
    const Error error = Refusal();
    EXPECT_EQ(error.kind, ErrorKind::kUser) << json;
    EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  }
}

TEST_F(PictureRecipeTest, ProcessorConfigKeepsThePicturesPartUnderAKey) {
  Write(
      "processor_config.json",
      R"({"processor_class": "X", "image_processor": {"do_normalize": false, "size": [480, 640]}})");
  EXPECT_EQ(Card().preprocessing.source, "processor_config.json");
}

TEST_F(PictureRecipeTest, AFamilyWithoutAFileHasItsClasssDefaults) {
  config_ = {{"architectures", {"DFineForObjectDetection"}}};
  Input({-1, 3, 640, 640});
  ModelCard card = Card();
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kStretch);
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1.0 / 255);
  EXPECT_TRUE(card.preprocessing.front.empty());
  EXPECT_EQ(card.preprocessing.source, "the defaults of RTDetrImageProcessor");
  EXPECT_NE(AllNotes(card).find("--check-preprocessing"), std::string::npos);
  // The graph's size counts when nothing of the model says another.
  Input({-1, 3, 320, 320});
  EXPECT_EQ(Card().input_width, 320);
  config_ = {{"architectures", {"DetrForObjectDetection"}}};
  EXPECT_EQ(Card().preprocessing.resize, ResizeMode::kLetterboxCorner);
  config_ = nullptr;
  const Error error = Refusal();
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_NE(error.message.find("is missing"), std::string::npos);
}

TEST_F(PictureRecipeTest, PaddleDetectionIsReadFromItsOwnFile) {
  const char* const kSteps = R"(mode: paddle
arch: YOLO
Preprocess:
- interp: 1
  keep_ratio: {}
  target_size: [480, 640]
  type: Resize
- is_scale: true
  mean: {}
  std: {}
  norm_type: {}
  type: NormalizeImage
- type: Permute
- stride: 32
  type: PadStride
label_list: [a, b]
)";
  const auto write = [&](const char* file, const char* ratio, const char* norm) {
    Write(file, fmt::format(fmt::runtime(kSteps), ratio, "[0.485, 0.456, 0.406]",
                            "[0.229, 0.224, 0.225]", norm));
  };
  write("infer_cfg.yml", "false", "mean_std");
  ModelCard card = Card();
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kStretch);
  EXPECT_EQ(card.preprocessing.source, "infer_cfg.yml");
  EXPECT_FALSE(card.preprocessing.bgr);
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1.0 / 255);
  EXPECT_EQ(card.preprocessing.front.mean.size(), 3U);
  EXPECT_TRUE(card.notes.empty()) << AllNotes(card);
  write("infer_cfg.yml", "true", "none");
  card = Card();
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCorner);
  EXPECT_TRUE(card.preprocessing.front.empty());
  ASSERT_TRUE(RemoveAll(JoinPath(folder_, "infer_cfg.yml")).ok());
  Write("inference.yml",
        "PreProcess:\n  transform_ops:\n  - DecodeImage: {to_rgb: false}\n"
        "  - ResizeImage: {size: [480, 640]}\n  - NormalizeImage: {is_scale: false, "
        "mean: [1, 2, 3], std: [2, 2, 2]}\n  - ToCHWImage: null\n");
  card = Card();
  EXPECT_TRUE(card.preprocessing.bgr);
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 0.5);
  EXPECT_EQ(card.preprocessing.offsets, (std::vector<double>{1, 2, 3}));
  Write("inference.yml", "Preprocess:\n- type: Resize\n  target_size: [a, b]\n");
  EXPECT_NE(Refusal().message.find("inference.yml"), std::string::npos);
  Write("inference.yml", "Preprocess:\n- type: WarpAffine\n");
  EXPECT_NE(Refusal().message.find("WarpAffine"), std::string::npos);
}

std::string Pipeline(const std::string& transforms) {
  return R"({"pipeline": {"tasks": [{"type": "Task", "module": "Transform", "transforms": [)" +
         transforms + R"(]}, {"module": "Net"}]}})";
}

TEST_F(PictureRecipeTest, MmdeployIsReadFromItsPipeline) {
  Write("pipeline.json", Pipeline(R"({"type": "LoadImageFromFile"},
      {"type": "Resize", "keep_ratio": true, "size": [640, 480]},
      {"type": "Pad", "size": [640, 480], "pad_val": {"img": [114, 114, 114]}},
      {"type": "Normalize", "mean": [103.53, 116.28, 123.675], "std": [57.375, 57.12, 58.395],
       "to_rgb": false},
      {"type": "Pad", "size_divisor": 32}, {"type": "DefaultFormatBundle"}, {"type": "Collect"})"));
  ModelCard card = Card();
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCorner);
  EXPECT_TRUE(card.preprocessing.bgr);
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1);
  EXPECT_EQ(card.preprocessing.front.mean, (std::vector<double>{103.53, 116.28, 123.675}));
  Write("pipeline.json", Pipeline(R"({"type": "LoadImageFromFile"},
      {"type": "LetterResize", "scale": [640, 480], "pad_val": {"img": 114}},
      {"type": "Normalize", "mean": [0, 0, 0], "std": [255, 255, 255], "to_rgb": true})"));
  card = Card();
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCentre);
  EXPECT_FALSE(card.preprocessing.bgr);
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1.0 / 255);
  EXPECT_TRUE(card.preprocessing.offsets.empty());
  EXPECT_NE(AllNotes(card).find("114"), std::string::npos);
  Write("pipeline.json", Pipeline(R"({"type": "TenCrop"})"));
  EXPECT_NE(Refusal().message.find("TenCrop"), std::string::npos);
  Write("pipeline.json", Pipeline(R"({"type": "Resize", "size": ["a", 1]})"));
  EXPECT_EQ(Refusal().kind, ErrorKind::kUser);
}

TEST_F(PictureRecipeTest, UltralyticsIsKnownByItsMetadata) {
  onnx_.metadata = {{"author", "Ultralytics"},
                    {"description", "Ultralytics YOLOv8n model trained on coco.yaml"},
                    {"imgsz", "[480, 640]"},
                    {"names", "{0: 'a'}"},
                    {"stride", "32"}};
  ModelCard card = Card();
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCentre);
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1.0 / 255);
  EXPECT_NE(AllNotes(card).find("114"), std::string::npos);
  Input({-1, 3, -1, -1});
  EXPECT_EQ(Card().input_height, 480);
  onnx_.metadata["description"] = "Ultralytics rtdetr-l model";
  EXPECT_EQ(Card().preprocessing.resize, ResizeMode::kStretch);
  onnx_.metadata = {{"names", "{0: 'a'}"}, {"stride", "32"}};
  Input({1, 3, 640, 640});
  EXPECT_EQ(Card().preprocessing.resize, ResizeMode::kLetterboxCentre);
  // A file beside the model says more than the graph's metadata.
  EXPECT_EQ(Transformers(R"({"size": [640, 640], "do_normalize": false})").preprocessing.resize,
            ResizeMode::kStretch);
}

TEST_F(PictureRecipeTest, FamiliesAreKnownByNameOrOutputs) {
  files_.onnx = JoinPath(folder_, "YOLOX_s.onnx");
  ModelCard card = Card();
  EXPECT_EQ(card.preprocessing.resize, ResizeMode::kLetterboxCorner);
  EXPECT_TRUE(card.preprocessing.bgr);
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1);
  files_.onnx = JoinPath(folder_, "yolov7-tiny.onnx");
  EXPECT_EQ(Card().preprocessing.resize, ResizeMode::kLetterboxCentre);
  files_.onnx = JoinPath(folder_, "x.onnx");
  Output("dets", {-1, 300, 4});
  Output("labels", {-1, 300, 91});
  onnx_.inputs[0].name = "input";
  EXPECT_EQ(Card().preprocessing.front.std.size(), 3U);
  onnx_.outputs.clear();
  for (const char* name : {"labels", "boxes", "scores"}) Output(name, {-1, 300});
  onnx_.inputs[0].name = "images";
  card = Card();
  EXPECT_TRUE(card.preprocessing.front.empty());
  EXPECT_NE(card.preprocessing.source.find("RT-DETR"), std::string::npos);
}

TEST_F(PictureRecipeTest, ChannelsLastAndBytesAreTheGraphsFront) {
  Input({-1, 480, 640, 3}, "uint8");
  const ModelCard card = Transformers(
      R"({"size": [480, 640], "image_mean": [0.485, 0.456, 0.406],
          "image_std": [0.229, 0.224, 0.225]})");
  EXPECT_EQ(card.input_height, 480);
  EXPECT_EQ(card.input_width, 640);
  EXPECT_TRUE(card.preprocessing.front.channels_last);
  EXPECT_TRUE(card.preprocessing.front.bytes);
  EXPECT_TRUE(card.preprocessing.front.std.empty());
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1);
  Input({-1, 480, 640, 3});
  EXPECT_FALSE(Transformers(R"({"size": [480, 640], "do_normalize": false,
                                "data_format": "channels_first"})")
                   .notes.empty());
}

TEST_F(PictureRecipeTest, AHeadThatOneTrainingHasSaysHowPicturesAre) {
  const auto recipe = [&](const std::string& head) {
    PreprocessingSources sources{files_, onnx_, config_};
    sources.head_family = head;
    return FamilyRecipe(sources);
  };
  ASSERT_TRUE(recipe("yolox-grid").has_value());
  EXPECT_TRUE(recipe("yolox-grid")->bgr);
  EXPECT_EQ(recipe("yolox-grid")->padding, PictureRecipe::Padding::kCorner);
  EXPECT_EQ(recipe("yolo-v8")->padding, PictureRecipe::Padding::kCentre);
  EXPECT_EQ(recipe("picodet")->mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(recipe("rtmdet")->source, "the defaults of RTMDet (by its head rtmdet)");
  for (const char* head : {"", "yolo-nas", "yolo-v3", "yolo-boxes-scores", "ssd", "retinanet"})
    EXPECT_FALSE(recipe(head).has_value()) << head;
}

TEST_F(PictureRecipeTest, NumbersAreReadInEveryLocale) {
  for (const char* locale : {"de_DE.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) GTEST_SKIP() << locale << " is not installed";
    const ModelCard card = Transformers(
        R"({"size": [480, 640], "image_mean": 0.5, "image_std": 0.25, "IMAGE_PROCESSOR": 1})");
    EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1.0 / 255 / 0.25);
    Write("inference.yml",
          "Preprocess:\n- {type: NormalizeImage, mean: [0.5, 0.5, 0.5], std: "
          "[0.5, 0.5, 0.5]}\n");
    ASSERT_TRUE(RemoveAll(JoinPath(folder_, "preprocessor_config.json")).ok());
    EXPECT_DOUBLE_EQ(Card().preprocessing.net_scale_factor, 1.0 / 127.5) << locale;
  }
}

}  // namespace
}  // namespace sg

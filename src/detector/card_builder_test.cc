#include "detector/card_builder.h"

#include <gtest/gtest.h>

#include <clocale>

#include "base/files.h"
#include "base/json.h"
#include "detector/label_file.h"

namespace sg {
namespace {

const char* const kDemoFolder = SG_SOURCE_DIR "/assets/pedestrian-rtdetr";

OnnxTensor Tensor(const std::string& name, const std::vector<int>& dims,
                  const std::string& type = "float32") {
  OnnxTensor tensor;
  tensor.name = name;
  tensor.elem_type = type;
  tensor.has_shape = true;
  for (const int dim : dims) {
    OnnxDim axis;
    if (dim >= 0) axis.value = dim;
    if (dim < 0) axis.symbol = "batch";
    tensor.dims.push_back(axis);
  }
  return tensor;
}

/// A folder with a model of two classes that has everything; tests break one thing each.
class CardBuilderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "card_builder_test.XXXXXX";
    folder_ = JoinPath(AbsolutePath(mkdtemp(pattern.data())), "rtdetr-l");
    onnx_.path = JoinPath(folder_, "model.onnx");
    onnx_.inputs = {Tensor("pixel_values", {-1, 3, 320, 640})};
    onnx_.outputs = {Tensor("logits", {-1, 50, 2}), Tensor("pred_boxes", {-1, 50, 4})};
    config_ = {{"architectures", {"RTDetrForObjectDetection"}},
               {"id2label", {{"0", "person"}, {"1", "car"}}},
               {"num_queries", 50}};
    processor_ = {{"do_rescale", true},
                  {"rescale_factor", 1.0 / 255},
                  {"do_normalize", false},
                  {"do_resize", true},
                  {"size", {{"height", 320}, {"width", 640}}}};
    Write("model.onnx", "x");
  }
  void TearDown() override {
    std::setlocale(LC_ALL, "C");
    EXPECT_TRUE(RemoveAll(ParentFolder(folder_)).ok());
  }

  void Write(const std::string& name, const std::string& text) {
    const std::string path = JoinPath(folder_, name);
    ASSERT_TRUE(MakeFolders(ParentFolder(path)).ok());
    ASSERT_TRUE(WriteFileAtomic(path, text).ok());
  }
  ModelFiles Files(const std::string& onnx, const std::string& source = "") const {
    ModelFiles files;
    files.source = source.empty() ? folder_ : source;
    files.onnx = JoinPath(folder_, onnx);
    files.config_folder = folder_;
    return files;
  }
  Result<ModelCard> Build() {
    if (!config_.is_null()) Write("config.json", ToJsonText(config_));
    if (!processor_.is_null()) Write("preprocessor_config.json", ToJsonText(processor_));
    return BuildModelCard(Files("model.onnx"), onnx_, overrides_);
  }
  ModelCard Card() {
    auto card = Build();
    EXPECT_TRUE(card.ok()) << (card.ok() ? "" : card.error().message);
    return card.ok() ? *card : ModelCard();
  }
  /// The error's message, after its kind and form were checked.
  std::string Message(ErrorKind kind) {
    auto card = Build();
    EXPECT_FALSE(card.ok());
    if (card.ok()) return "";
    EXPECT_EQ(card.error().kind, kind) << card.error().message;
    EXPECT_EQ(card.error().message.find('\n'), std::string::npos);
    return card.error().message;
  }

  std::string folder_;
  OnnxSummary onnx_;
  Json config_;
  Json processor_;
  CardOverrides overrides_;
};

TEST_F(CardBuilderTest, DemoModelIsDescribedFromItsOwnFiles) {
  ModelFiles files;
  files.source = files.config_folder = kDemoFolder;
  files.onnx = std::string(kDemoFolder) + "/onnx/model.onnx";
  auto onnx = ReadOnnxFile(files.onnx);
  ASSERT_TRUE(onnx.ok());
  for (const char* locale : {"C", "de_DE.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) GTEST_SKIP() << locale << " is not installed";
    auto card = BuildModelCard(files, *onnx, {});
    ASSERT_TRUE(card.ok()) << card.error().message;
    EXPECT_EQ(card->name, "pedestrian-rtdetr");
    EXPECT_EQ(card->architecture, "RTDetrForObjectDetection");
    EXPECT_EQ(card->licence, "apache-2.0");
    EXPECT_EQ(card->labels, std::vector<std::string>{"person"});
    EXPECT_EQ(card->labels_source, "config.json id2label");
    EXPECT_DOUBLE_EQ(card->preprocessing.net_scale_factor, 1.0 / 255);
    EXPECT_TRUE(card->preprocessing.offsets.empty());
    EXPECT_FALSE(card->preprocessing.bgr);
    EXPECT_EQ(card->preprocessing.resize, ResizeMode::kStretch);
    EXPECT_EQ(card->preprocessing.source, "preprocessor_config.json");
    EXPECT_EQ(card->input_name, "pixel_values");
    EXPECT_EQ(card->input_width, 320);
    EXPECT_EQ(card->input_height, 320);
    ASSERT_EQ(card->head_candidates.size(), 1U);
    EXPECT_EQ(HeadText(card->head),
              "detr-sigmoid: logits [50,1] scores, pred_boxes [50,4] boxes; cxcywh in 0-1, scores "
              "through a sigmoid; 1 class");
    EXPECT_DOUBLE_EQ(card->score_threshold, 0.5);
    EXPECT_EQ(card->score_threshold_source, "README.md: \"score >= 0.5\"");
    EXPECT_DOUBLE_EQ(card->nms_iou_threshold, 0.7);
    EXPECT_FALSE(card->cluster_mode.has_value());
    EXPECT_TRUE(card->notes.empty());
  }
}

TEST_F(CardBuilderTest, DefaultsHoldWhereTheFilesSayNothing) {
  const ModelCard card = Card();
  EXPECT_EQ(card.name, "rtdetr-l");
  EXPECT_EQ(card.licence, "unknown");
  EXPECT_DOUBLE_EQ(card.score_threshold, 0.25);
  EXPECT_EQ(card.score_threshold_source, "default");
  EXPECT_DOUBLE_EQ(card.nms_iou_threshold, 0.45);
  EXPECT_EQ(card.topk, 200);
  EXPECT_EQ(card.input_width, 640);
  EXPECT_EQ(card.input_height, 320);
}

TEST_F(CardBuilderTest, CommandLineWinsOverConfigsAndConfigsOverTheReadme) {
  Write("README.md", "score ≥ 0.5, NMS at IoU 0.7");
  processor_["threshold"] = 0.4;
  ModelCard card = Card();
  EXPECT_DOUBLE_EQ(card.score_threshold, 0.4);
  EXPECT_EQ(card.score_threshold_source, "preprocessor_config.json threshold");
  EXPECT_DOUBLE_EQ(card.nms_iou_threshold, 0.7);
  overrides_.score_threshold = 0.3;
  overrides_.nms_iou = 0.6;
  overrides_.name = "my.model_1";
  card = Card();
  EXPECT_DOUBLE_EQ(card.score_threshold, 0.3);
  EXPECT_EQ(card.score_threshold_source, "--score-threshold");
  EXPECT_DOUBLE_EQ(card.nms_iou_threshold, 0.6);
  EXPECT_EQ(card.nms_iou_source, "--nms-iou");
  EXPECT_EQ(card.name, "my.model_1");
  overrides_.nms_iou = 1.5;
  EXPECT_NE(Message(ErrorKind::kUser).find("--nms-iou"), std::string::npos);
}

TEST_F(CardBuilderTest, OtherTasksAreRefusedByName) {
  for (const auto& [suffix, words] :
       {std::pair("ForImageClassification", "image classification"),
        std::pair("ForSemanticSegmentation", "semantic segmentation"),
        std::pair("ForInstanceSegmentation", "instance segmentation"),
        std::pair("ForPanopticSegmentation", "panoptic segmentation"),
        std::pair("ForDepthEstimation", "depth estimation"),
        std::pair("ForMaskedLM", "language model"),
        std::pair("ForTokenClassification", "token classification"),
        std::pair("ForCausalLM", "language model"), std::pair("Model", "not object detection")}) {
    config_["architectures"] = {std::string("Some") + suffix};
    EXPECT_NE(Message(ErrorKind::kUnsupported).find(words), std::string::npos) << suffix;
  }
  config_["architectures"] = {"OwlViTForZeroShotObjectDetection"};
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("--prompt"), std::string::npos);
  config_["architectures"] = {"SomeForObjectDetection"};
  onnx_.metadata["task"] = "segment";
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("instance segmentation"), std::string::npos);
  onnx_.metadata.clear();
  config_.erase("architectures");
  EXPECT_NE(Message(ErrorKind::kUser).find("names no architecture"), std::string::npos);
  config_["architectures"] = 3;
  EXPECT_NE(Message(ErrorKind::kUser).find("names no architecture"), std::string::npos);
}

TEST_F(CardBuilderTest, LabelsComeFromId2LabelThenLabel2IdThenNames) {
  config_["label2id"] = {{"b", 0}, {"a", 1}};
  config_["names"] = {"x", "y"};
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"person", "car"}));
  config_.erase("id2label");
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(Card().labels_source, "config.json label2id");
  config_.erase("label2id");
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"x", "y"}));
  config_["names"] = {{"1", "one"}, {"0", "zero"}};
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"zero", "one"}));
  config_.erase("names");
  EXPECT_NE(Message(ErrorKind::kUser).find("--labels FILE"), std::string::npos);
  Write("labels.txt", "un\r\ndeux\r\n");
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"un", "deux"}));
  Write("mine.txt", "eins\nzwei");
  overrides_.labels_file = JoinPath(folder_, "mine.txt");
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"eins", "zwei"}));
}

TEST_F(CardBuilderTest, LabelMapsThatAreNoneAreNamed) {
  for (const Json& map : {Json{{"x", "person"}}, Json{{"-1", "a"}}, Json{{"0", 5}},
                          Json::array({1, 2}), Json{{"9999999999", "a"}}}) {
    config_["id2label"] = map;
    EXPECT_NE(Message(ErrorKind::kUser).find("id2label"), std::string::npos) << map.dump();
  }
}

TEST_F(CardBuilderTest, LabelsThatALabelFileCannotHoldAreRewrittenAndSaid) {
  config_["id2label"] = {{"0", "a;b"}, {"1", ""}};
  const ModelCard card = Card();
  EXPECT_EQ(card.labels, (std::vector<std::string>{"a,b", "class 1"}));
  EXPECT_EQ(card.notes.size(), 2U);
}

TEST_F(CardBuilderTest, GapsInTheClassNumbersAreNamedByNumber) {
  onnx_.outputs[0] = Tensor("logits", {-1, 50, 4});
  config_["id2label"] = {{"0", "person"}, {"3", "car"}};
  const ModelCard card = Card();
  EXPECT_EQ(card.labels, (std::vector<std::string>{"person", "class 1", "class 2", "car"}));
  EXPECT_EQ(card.notes.size(), 1U);
}

TEST_F(CardBuilderTest, LabelsThatDoNotMatchTheHeadAreRefusedWithBothNumbers) {
  onnx_.outputs[0] = Tensor("logits", {-1, 50, 80});
  const std::string message = Message(ErrorKind::kUser);
  EXPECT_NE(message.find("2 labels"), std::string::npos) << message;
  EXPECT_NE(message.find("80 classes"), std::string::npos) << message;
}

TEST_F(CardBuilderTest, HeadsWithoutADecoderAreRefusedWithTheirShapes) {
  onnx_.outputs = {Tensor("features", {-1, 256, 20, 20})};
  std::string message = Message(ErrorKind::kUnsupported);
  EXPECT_NE(message.find("features [batch,256,20,20] float32"), std::string::npos) << message;
}

TEST_F(CardBuilderTest, ANoObjectColumnIsNoClass) {
  onnx_.outputs[0] = Tensor("logits", {-1, 50, 3});
  config_["architectures"] = {"DetrForObjectDetection"};
  ModelCard card = Card();
  EXPECT_EQ(card.head.family, "detr-softmax");
  EXPECT_EQ(card.head.num_classes, 2);
  EXPECT_EQ(card.head.background, 2);
  // Unknown families: the labels say which columns are classes.
  config_["architectures"] = {"FancyForObjectDetection"};
  EXPECT_EQ(Card().head.family, "detr-softmax");
  onnx_.outputs[0] = Tensor("logits", {-1, 50, 2});
  EXPECT_EQ(Card().head.family, "detr-sigmoid");
  // A family that has no such column: three columns are three classes.
  onnx_.outputs[0] = Tensor("logits", {-1, 50, 3});
  config_["architectures"] = {"RTDetrForObjectDetection"};
  const std::string message = Message(ErrorKind::kUser);
  EXPECT_NE(message.find("2 labels"), std::string::npos) << message;
  EXPECT_NE(message.find("3 classes"), std::string::npos) << message;
}

TEST_F(CardBuilderTest, ClassesThatAreNotWantedAreFilteredAndStayCounted) {
  overrides_.classes = {"car"};
  ModelCard card = Card();
  EXPECT_EQ(card.filtered_classes, std::vector<int>{0});
  EXPECT_EQ(card.head.num_classes, 2);
  overrides_.classes = {"0", "car"};
  EXPECT_TRUE(Card().filtered_classes.empty());
  overrides_.classes = {"bus"};
  const std::string message = Message(ErrorKind::kUser);
  EXPECT_NE(message.find("person, car"), std::string::npos) << message;
}

TEST_F(CardBuilderTest, TopkIsNoLessThanWhatAFinalHeadGives) {
  EXPECT_EQ(Card().topk, 200);
  onnx_.outputs = {Tensor("logits", {-1, 900, 2}), Tensor("pred_boxes", {-1, 900, 4})};
  EXPECT_EQ(Card().topk, 900);
  config_.erase("architectures");
  onnx_.metadata["task"] = "segment";
  config_ = nullptr;
  ASSERT_TRUE(RemoveAll(JoinPath(folder_, "config.json")).ok());
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("segment"), std::string::npos);
}

TEST_F(CardBuilderTest, AnUltralyticsExportNeedsNoConfig) {
  config_ = nullptr;
  onnx_.inputs = {Tensor("images", {1, 3, 320, 640})};
  onnx_.outputs = {Tensor("output0", {1, 6, 4200})};
  onnx_.metadata = {{"task", "detect"}, {"names", "{0: 'person', 1: 'car'}"}};
  const ModelCard card = Card();
  EXPECT_EQ(card.head.family, "yolo-v8");
  EXPECT_EQ(card.labels, (std::vector<std::string>{"person", "car"}));
}

TEST_F(CardBuilderTest, SigmoidDetrFamiliesAreKnownWithFurtherOutputs) {
  onnx_.outputs.insert(onnx_.outputs.begin(), Tensor("last_hidden_state", {-1, 50, 256}));
  for (const char* family : {"RTDetr", "RTDetrV2", "DeformableDetr", "DFine", "RfDetr"}) {
    config_["architectures"] = {std::string(family) + "ForObjectDetection"};
    EXPECT_EQ(Card().head.outputs[0].name, "logits") << family;
  }
}

TEST_F(CardBuilderTest, FreeAxesAreFilledFromTheConfigs) {
  onnx_.inputs = {Tensor("pixel_values", {-1, 3, -1, -1})};
  onnx_.outputs = {Tensor("logits", {-1, -1, -1}), Tensor("pred_boxes", {-1, -1, 4})};
  const ModelCard card = Card();
  EXPECT_EQ(card.input_width, 640);
  EXPECT_EQ(card.head.outputs[0].dims, (std::vector<int>{50, 2}));
  EXPECT_EQ(card.head.num_classes, 2);
  config_.erase("num_queries");
  EXPECT_NE(Message(ErrorKind::kUser).find("num_queries"), std::string::npos);
  onnx_.outputs = {Tensor("logits", {-1, 50, 2}), Tensor("pred_boxes", {-1, 60, 4})};
  EXPECT_NE(Message(ErrorKind::kUser).find("disagree"), std::string::npos);
}

TEST_F(CardBuilderTest, InputsThatAreNotOnePictureAreRefused) {
  onnx_.inputs.push_back(Tensor("pixel_mask", {-1, 64, 64}, "int64"));
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("pixel_mask"), std::string::npos);
  onnx_.inputs = {Tensor("x", {-1, 1, 320, 640})};
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("[batch,1,320,640]"), std::string::npos);
  onnx_.inputs = {Tensor("x", {-1, 3, 320, 640}, "int64")};
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("int64"), std::string::npos);
}

TEST_F(CardBuilderTest, NormalisationBecomesScaleAndOffsets) {
  processor_["do_normalize"] = true;
  processor_["image_mean"] = {0.5, 0.25, 0.0};
  processor_["image_std"] = {0.5, 0.5, 0.5};
  ModelCard card = Card();
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1.0 / 255 / 0.5);
  ASSERT_EQ(card.preprocessing.offsets.size(), 3U);
  EXPECT_DOUBLE_EQ(card.preprocessing.offsets[0], 127.5);
  EXPECT_DOUBLE_EQ(card.preprocessing.offsets[1], 63.75);
  processor_["image_std"] = {0.229, 0.224, 0.225};
  processor_["image_mean"] = {0.485, 0.456, 0.406};
  card = Card();  // one scale cannot say this: the graph's front does it
  EXPECT_DOUBLE_EQ(card.preprocessing.net_scale_factor, 1.0 / 255);
  EXPECT_TRUE(card.preprocessing.offsets.empty());
  EXPECT_EQ(card.preprocessing.front.std, (std::vector<double>{0.229, 0.224, 0.225}));
  EXPECT_EQ(card.preprocessing.front.mean, (std::vector<double>{0.485, 0.456, 0.406}));
  processor_["image_std"] = {0.2, 0.2};
  EXPECT_NE(Message(ErrorKind::kUser).find("image_std"), std::string::npos);
  processor_["do_normalize"] = false;
  EXPECT_TRUE(Card().preprocessing.offsets.empty());
  processor_["do_rescale"] = false;
  EXPECT_DOUBLE_EQ(Card().preprocessing.net_scale_factor, 1);
}

TEST_F(CardBuilderTest, PreprocessingThatCannotBeKeptIsRefused) {
  processor_["size"] = {{"diagonal", 800}};
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("diagonal"), std::string::npos);
  processor_["size"] = {{"height", 640}, {"width", 640}};
  const std::string message = Message(ErrorKind::kUser);
  EXPECT_NE(message.find("640x640"), std::string::npos) << message;
  EXPECT_NE(message.find("640x320"), std::string::npos) << message;
  processor_["size"] = {{"height", 320}, {"width", 640}};
  processor_["do_pad"] = true;
  EXPECT_EQ(Card().preprocessing.resize, ResizeMode::kStretch);
  processor_["pad_size"] = {{"height", 640}, {"width", 640}};
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("pads"), std::string::npos);
  processor_.erase("pad_size");
  processor_["do_rescale"] = "yes";
  EXPECT_NE(Message(ErrorKind::kUser).find("do_rescale"), std::string::npos);
  processor_["do_rescale"] = true;
  processor_["resample"] = 3;
  EXPECT_EQ(Card().notes.size(), 1U);
}

TEST_F(CardBuilderTest, MissingConfigFilesAreNamed) {
  processor_ = nullptr;
  config_["architectures"] = {"NobodysForObjectDetection"};
  EXPECT_NE(Message(ErrorKind::kUser).find("preprocessor_config.json: is missing"),
            std::string::npos);
  config_["architectures"] = {"RTDetrForObjectDetection"};
  Write("processor_config.json",
        R"({"image_processor": {"do_normalize": false, "size": {"height": 320, "width": 640}}})");
  EXPECT_EQ(Card().preprocessing.source, "processor_config.json");
  ASSERT_TRUE(RemoveAll(JoinPath(folder_, "config.json")).ok());
  config_ = nullptr;
  EXPECT_NE(Message(ErrorKind::kUser).find("config.json: is missing"), std::string::npos);
  Write("config.json", "{\"architectures\": [");
  EXPECT_NE(Message(ErrorKind::kUser).find("config.json"), std::string::npos);
}

TEST_F(CardBuilderTest, AFilesNameNamesTheModelWhereItSaysMoreThanItsFolder) {
  ASSERT_TRUE(Build().ok());
  const std::string plain = JoinPath(folder_, "onnx/model.onnx");
  auto card = BuildModelCard(Files("onnx/model.onnx", plain), onnx_, {});
  ASSERT_TRUE(card.ok()) << card.error().message;
  EXPECT_EQ(card->name, "rtdetr-l");
  const std::string named = "my detector (1).onnx";
  card = BuildModelCard(Files(named, JoinPath(folder_, named)), onnx_, {});
  ASSERT_TRUE(card.ok()) << card.error().message;
  EXPECT_EQ(card->name, "my-detector--1-");
  EXPECT_EQ(card->notes.size(), 1U);
}

TEST_F(CardBuilderTest, NamesThatCannotBeFoldersAreRefused) {
  for (const char* name : {".", "..", "a/b", "a b", "ä", "$(x)"}) {
    overrides_.name = name;
    EXPECT_NE(Message(ErrorKind::kUser).find("model's name"), std::string::npos) << name;
  }
  EXPECT_FALSE(CheckModelName("").ok());
  EXPECT_TRUE(CheckModelName("..a").ok());
}

TEST_F(CardBuilderTest, ForeignOperatorsAreRefused) {
  onnx_.operators = {{"com.microsoft", "QAttention", 2}};
  EXPECT_NE(Message(ErrorKind::kUnsupported).find("QAttention"), std::string::npos);
}

TEST_F(CardBuilderTest, LabelsOfTheOnnxAndOfNamesFilesAreTaken) {
  config_.erase("id2label");
  config_.erase("label2id");
  onnx_.metadata["names"] = "{0: 'person', 1: 'car'}";
  Result<ModelCard> card = Build();
  ASSERT_TRUE(card.ok()) << card.error().message;
  EXPECT_EQ(card->labels, (std::vector<std::string>{"person", "car"}));
  EXPECT_EQ(card->labels_source, "the ONNX's metadata names");
  onnx_.metadata.clear();
  Write("coco.names", "pedestrian\nbus\n");
  card = Build();
  ASSERT_TRUE(card.ok()) << card.error().message;
  EXPECT_EQ(card->labels, (std::vector<std::string>{"pedestrian", "bus"}));
  EXPECT_EQ(card->labels_source, "coco.names");
}

TEST_F(CardBuilderTest, LabelsOfFilesComeInTheirOrder) {
  config_.erase("id2label");
  Write("coco.yaml", "names: {0: yaml_a, 1: yaml_b}");
  Write("deploy.yml", "names: web\nport: 80");
  EXPECT_EQ(Card().labels_source, "coco.yaml names");
  Write("data.yaml", "train: x\nnames:\n- yaml_a\n- yaml_b\n");
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"yaml_a", "yaml_b"})) << "they agree";
  Write("data.yaml", "names: [a, b]");
  EXPECT_NE(Message(ErrorKind::kUser).find("data.yaml"), std::string::npos) << "they do not";
  Write("coco.names", "names_a\nnames_b\n");
  EXPECT_EQ(Card().labels_source, "coco.names");
  Write("voc.names", "x\ny\n");
  EXPECT_NE(Message(ErrorKind::kUser).find("--labels"), std::string::npos);
  Write("labels.txt", "\xef\xbb\xbftxt_a\r\ntxt_b\r\n");
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"txt_a", "txt_b"}));
  onnx_.metadata["names"] = "{0: 'onnx_a', 1: 'onnx_b'}";
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"onnx_a", "onnx_b"}));
  onnx_.metadata["names"] = "{0: 'onnx_a', 2: 'onnx_b'}";  // a gap is a class of its own
  EXPECT_NE(Message(ErrorKind::kUser).find("3 labels"), std::string::npos);
  onnx_.metadata["names"] = "{0: 'a', 0: 'b'}";
  EXPECT_NE(Message(ErrorKind::kUser).find("twice"), std::string::npos);
  Write("mine.yaml", "names: {0: eins, 1: zwei}");
  overrides_.labels_file = JoinPath(folder_, "mine.yaml");
  EXPECT_EQ(Card().labels, (std::vector<std::string>{"eins", "zwei"}));
  overrides_.labels_file = JoinPath(folder_, "deploy.yml");
  EXPECT_NE(Message(ErrorKind::kUser).find("no names:"), std::string::npos);
}

TEST_F(CardBuilderTest, PlaceholderLabelsGiveWayAndAreSaid) {
  config_["id2label"] = {{"0", "LABEL_0"}, {"1", "LABEL_1"}};
  config_["label2id"] = {{"LABEL_0", 0}, {"LABEL_1", 1}};
  ModelCard card = Card();
  EXPECT_EQ(card.labels, (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(card.labels_source, "config.json id2label");
  ASSERT_EQ(card.notes.size(), 1U);
  EXPECT_NE(card.notes[0].find("--labels"), std::string::npos) << card.notes[0];
  Write("classes.txt", "cat\ndog\n");
  card = Card();
  EXPECT_EQ(card.labels, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(card.notes.size(), 1U);
  EXPECT_NE(card.notes[0].find("config.json id2label has only placeholders"), std::string::npos);
}

TEST_F(CardBuilderTest, RepeatedClassNumbersAreRefused) {
  Write("config.json", R"({"architectures": ["RTDetrForObjectDetection"],
                           "id2label": {"0": "a", "0": "b", "1": "c"}})");
  config_ = nullptr;
  EXPECT_NE(Message(ErrorKind::kUser).find("'0' is there twice"), std::string::npos);
}

}  // namespace
}  // namespace sg

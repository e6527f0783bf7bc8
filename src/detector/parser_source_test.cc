#include "detector/parser_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/files.h"
#include "base/subprocess.h"

namespace sg {
namespace {

ModelCard Card(const std::string& name, int queries, int classes) {
  ModelCard card;
  card.name = name;
  card.head.family = "detr-sigmoid";
  card.head.outputs = {{OutputRole::kScores, "logits", {queries, classes}, TensorType::kFloat},
                       {OutputRole::kBoxes, "pred_boxes", {queries, 4}, TensorType::kFloat}};
  card.input_width = 320;
  card.input_height = 192;
  card.head.num_classes = classes;
  for (int i = 0; i < classes; ++i) card.labels.push_back("class " + std::to_string(i));
  return card;
}

RecordedTensors Tensors(int batch, const ModelCard& card, const std::vector<float>& scores,
                        const std::vector<float>& boxes) {
  const std::vector<HeadOutput>& outputs = card.head.outputs;
  return {batch,
          {{outputs[0].name, outputs[0].dims, scores, TensorType::kFloat},
           {outputs[1].name, outputs[1].dims, boxes, TensorType::kFloat}}};
}

RecordedTensors RandomTensors(const ModelCard& card, int batch, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> logit(-4, 4);
  std::uniform_real_distribution<float> coordinate(-0.2F, 1.2F);
  const size_t queries = static_cast<size_t>(batch) * card.head.outputs[0].dims[0];
  std::vector<float> scores(queries * card.head.num_classes);
  std::vector<float> boxes(queries * 4);
  for (float& value : scores) value = logit(random);
  for (float& value : boxes) value = coordinate(random);
  return Tensors(batch, card, scores, boxes);
}

NvDsInferLayerInfo Layer(const char* name, const std::vector<int>& dims, const void* data,
                         TensorType type = TensorType::kFloat) {
  return DescribeOutput({name, dims, type, data});
}

class ParserSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "parser source test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(folder_).ok()); }

  Result<ParserLibrary> Build(const ModelCard& card) {
    const ParserSource source = GenerateParser(card);
    SG_RETURN_IF_ERROR(WriteParser(source, folder_));
    SG_ASSIGN_OR_RETURN(const std::string path, CompileParser(folder_, source.names));
    return ParserLibrary::Load(path, source.names.function_name);
  }

  std::string folder_;
};

TEST(ParserNamesTest, FollowTheModelsNameAsPythonCapitalizes) {
  EXPECT_EQ(NamesOfParser("rtdetr-l").safe_name, "rtdetr_l");
  EXPECT_EQ(NamesOfParser("rtdetr-l").function_name, "NvDsInferParseCustomRtdetrL");
  EXPECT_EQ(NamesOfParser("rtdetr-l").cpp_name, "nvdsinfer_custombboxparser_rtdetr_l.cpp");
  EXPECT_EQ(NamesOfParser("rtdetr-l").library_name, "libnvdsinfer_rtdetr_l_parser.so");
  EXPECT_EQ(NamesOfParser("RTDETR_v2.r18VD").function_name, "NvDsInferParseCustomRtdetrV2R18vd");
  EXPECT_EQ(NamesOfParser("8N--x").function_name, "NvDsInferParseCustom8nX");
  EXPECT_EQ(NamesOfParser("grounding-dino-base").function_name,
            "NvDsInferParseCustomGroundingDinoBase");
}

TEST_F(ParserSourceTest, AgreesWithTheReferenceDecoderInEverySlot) {
  for (const int classes : {1, 7}) {
    const ModelCard card = Card("rtdetr-" + std::to_string(classes), 50, classes);
    auto library = Build(card);
    ASSERT_TRUE(library.ok()) << library.error().message;
    for (const float threshold : {0.0F, 0.25F, 0.5F}) {
      auto proof = ProveParser(*library, card,
                               {RandomTensors(card, 4, 1), RandomTensors(card, 1, 2)}, threshold);
      ASSERT_TRUE(proof.ok()) << proof.error().message;
      EXPECT_EQ(proof->slots, 5);
      EXPECT_GT(proof->boxes, 50);
      EXPECT_LE(proof->max_box_px, 1e-4);
      EXPECT_LE(proof->max_score, 1e-4);
    }
  }
}

TEST_F(ParserSourceTest, ValuesThatAreNotFiniteMakeNoBox) {
  const ModelCard card = Card("m", 4, 2);
  auto library = Build(card);
  ASSERT_TRUE(library.ok()) << library.error().message;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const RecordedTensors tensors =
      Tensors(1, card, {nan, inf, -inf, 3, 3, -9, 2, -9},
              {.5, .5, .1, .1, .5, .5, nan, .1, .5, .5, .1, .1, inf, .5, .1, .1});
  auto proof = ProveParser(*library, card, {tensors}, 0.5F);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_EQ(proof->boxes, 1);
}

TEST_F(ParserSourceTest, HalfTensorsGiveTheBoxesOfTheSameFloats) {
  const ModelCard card = Card("m", 1, 1);
  auto library = Build(card);
  ASSERT_TRUE(library.ok()) << library.error().message;
  // 1.0, and 0.5, 0.5, 0.25, 2^-24 (the smallest half), as IEEE halves.
  uint16_t logit = 0x3C00;
  uint16_t boxes[] = {0x3800, 0x3800, 0x3400, 0x0001};
  NvDsInferLayerInfo scores_layer = Layer("logits", {1, 1}, &logit, TensorType::kHalf);
  NvDsInferLayerInfo boxes_layer = Layer("pred_boxes", {1, 4}, boxes, TensorType::kHalf);
  const auto params = DetectionParams({0.5F}, {0.0F});
  std::vector<Box> found;
  ASSERT_TRUE(library->Parse({scores_layer, boxes_layer}, {320, 192, 3}, params, &found));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].score, 1 / (1 + std::exp(-1.0F)), 1e-6);
  EXPECT_FLOAT_EQ(found[0].left, 0.375F * 320);
  EXPECT_FLOAT_EQ(found[0].width, 80);
  EXPECT_NEAR(found[0].height, 0, 1e-3);

  scores_layer.dataType = INT8;
  EXPECT_FALSE(library->Parse({scores_layer, boxes_layer}, {320, 192, 3}, params, &found));
}

TEST_F(ParserSourceTest, SaysNoWithBothNumbersWhenClassesDiffer) {
  const ModelCard card = Card("m", 2, 3);
  auto library = Build(card);
  ASSERT_TRUE(library.ok()) << library.error().message;
  const std::vector<float> values(8, 0.5F);
  const std::vector<NvDsInferLayerInfo> outputs = {Layer("pred_boxes", {2, 4}, values.data()),
                                                   Layer("logits", {2, 3}, values.data())};
  std::vector<Box> found;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(library->Parse(outputs, {320, 192, 3}, DetectionParams({0.5F}, {0}), &found));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("num-detected-classes is 1, the model has 3"), std::string::npos) << said;
  const auto params = DetectionParams({0.5F, 0.5F, 0.5F}, {0, 0, 0});
  EXPECT_TRUE(library->Parse(outputs, {320, 192, 3}, params, &found));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(library->Parse({outputs[0]}, {320, 192, 3}, params, &found));
  EXPECT_FALSE(library->Parse({outputs[0], Layer("logits", {2, 80}, values.data())}, {320, 192, 3},
                              params, &found));
  testing::internal::GetCapturedStderr();
}

TEST_F(ParserSourceTest, ZeroQueriesGiveNoBoxes) {
  const ModelCard card = Card("m", 0, 2);
  auto library = Build(card);
  ASSERT_TRUE(library.ok()) << library.error().message;
  auto proof = ProveParser(*library, card, {RandomTensors(card, 2, 1)}, 0.5F);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_EQ(proof->boxes, 0);
}

TEST_F(ParserSourceTest, CompilesWithoutWarningsInTheStandardThatDeepStreamSamplesUse) {
  const ParserSource source = GenerateParser(Card("m", 2, 3));
  ASSERT_TRUE(WriteParser(source, folder_).ok());
  for (const char* standard : {"-std=c++11", "-std=c++17"}) {
    Subprocess compile;
    compile.argv = {"g++",
                    standard,
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-fsyntax-only",
                    JoinPath(folder_, source.names.cpp_name)};
    compile.deadline_s = 60;
    auto exit = RunSubprocess(compile);
    ASSERT_TRUE(exit.ok()) << exit.error().message;
    EXPECT_EQ(exit->code, 0) << standard << exit->stderr_tail;
  }
}

TEST_F(ParserSourceTest, OddOutputNamesAreWrittenAsStrings) {
  ModelCard card = Card("m", 2, 1);
  card.head.outputs[0].name =
      "a\"b\\c\n*/?"
      "?/9";
  auto library = Build(card);
  ASSERT_TRUE(library.ok()) << library.error().message;
  auto proof = ProveParser(*library, card, {RandomTensors(card, 1, 1)}, 0.0F);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
}

TEST_F(ParserSourceTest, MakefileHasTabsAndTheVariablesPeopleSet) {
  const ParserSource source = GenerateParser(Card("rtdetr-l", 2, 1));
  EXPECT_NE(source.makefile.find("\nDEEPSTREAM_DIR ?= "), std::string::npos);
  EXPECT_NE(source.makefile.find("\nCUDA_VER ?= "), std::string::npos);
  EXPECT_NE(source.makefile.find("\n\t$(CXX)"), std::string::npos);
  EXPECT_NE(source.makefile.find("libnvdsinfer_rtdetr_l_parser.so"), std::string::npos);
}

TEST_F(ParserSourceTest, CompilerErrorIsReportedInOneLine) {
  ParserSource source = GenerateParser(Card("m", 2, 1));
  source.cpp += "int broken(\n";
  ASSERT_TRUE(WriteParser(source, folder_).ok());
  auto path = CompileParser(folder_, source.names);
  ASSERT_FALSE(path.ok());
  EXPECT_NE(path.error().message.find("error:"), std::string::npos) << path.error().message;
  EXPECT_EQ(path.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(FileExists(JoinPath(folder_, source.names.library_name)));
}

TEST_F(ParserSourceTest, StaleLibraryThatLooksNewerIsMadeAnew) {
  const ParserSource source = GenerateParser(Card("m", 2, 1));
  ASSERT_TRUE(WriteParser(source, folder_).ok());
  ASSERT_TRUE(WriteFileAtomic(JoinPath(folder_, source.names.library_name), "stale").ok());
  auto path = CompileParser(folder_, source.names);
  ASSERT_TRUE(path.ok()) << path.error().message;
}

TEST_F(ParserSourceTest, ParserOfAnotherModelFailsTheProof) {
  const ModelCard card = Card("m", 20, 2);
  ParserSource source = GenerateParser(card);
  const size_t at = source.cpp.find("box[2] / 2");
  ASSERT_NE(at, std::string::npos);
  source.cpp.replace(at, 10, "box[2] / 3");
  ASSERT_TRUE(WriteParser(source, folder_).ok());
  auto path = CompileParser(folder_, source.names);
  ASSERT_TRUE(path.ok()) << path.error().message;
  auto library = ParserLibrary::Load(*path, source.names.function_name);
  ASSERT_TRUE(library.ok());
  auto proof = ProveParser(*library, card, {RandomTensors(card, 2, 5)}, 0.5F);
  ASSERT_FALSE(proof.ok());
  EXPECT_EQ(proof.error().kind, ErrorKind::kGate);
  EXPECT_NE(proof.error().message.find("slot 0 of batch 2"), std::string::npos)
      << proof.error().message;
}

TEST_F(ParserSourceTest, LibrariesThatCannotBeUsedAreNamedWithTheReason) {
  const auto error_of = [](const std::string& path, const std::string& function) {
    auto library = ParserLibrary::Load(path, function);
    EXPECT_FALSE(library.ok());
    return library.ok() ? Error{} : library.error();
  };
  const std::string missing = JoinPath(folder_, "libnone.so");
  EXPECT_EQ(error_of(missing, "F").kind, ErrorKind::kUser);
  EXPECT_NE(error_of(missing, "F").message.find("no such parser library"), std::string::npos);
  EXPECT_NE(error_of(folder_, "F").message.find("folder"), std::string::npos);

  const ModelCard card = Card("m", 2, 1);
  ASSERT_TRUE(Build(card).ok());
  const std::string whole = JoinPath(folder_, "libnvdsinfer_m_parser.so");
  const Error no_symbol = error_of(whole, "NvDsInferParseCustomOther");
  EXPECT_EQ(no_symbol.kind, ErrorKind::kUser);
  EXPECT_NE(no_symbol.message.find("NvDsInferParseCustomOther"), std::string::npos);
  EXPECT_NE(no_symbol.message.find(whole), std::string::npos);

  auto bytes = ReadFile(whole);
  ASSERT_TRUE(bytes.ok());
  const std::string damaged = JoinPath(folder_, "libdamaged.so");
  const auto write = [&](const std::string& content) {
    ASSERT_TRUE(WriteFileAtomic(damaged, content).ok());
  };
  write("");
  EXPECT_NE(error_of(damaged, "F").message.find("not a shared library"), std::string::npos);
  for (const size_t size : {20, 63, 100, 500, 5000}) {
    write(bytes->substr(0, size));
    EXPECT_NE(error_of(damaged, "F").message.find("truncated"), std::string::npos) << size;
  }
  std::string other = *bytes;
  other[4] = 1;   // ELFCLASS32
  other[18] = 3;  // EM_386
  write(other);
  EXPECT_NE(error_of(damaged, "F").message.find("32-bit x86"), std::string::npos);
  other = *bytes;
  other[18] = static_cast<char>(0xB7);  // EM_AARCH64
  other[19] = 0;
  write(other);
  EXPECT_NE(error_of(damaged, "F").message.find("is built for"), std::string::npos);
}

}  // namespace
}  // namespace sg

#include "detector/label_map.h"

#include <gtest/gtest.h>

namespace sg {
namespace {

LabelMap Labels(Result<LabelMap> map) {
  EXPECT_TRUE(map.ok()) << map.error().message;
  return map.ok() ? *map : LabelMap();
}

std::string Wrong(const Result<LabelMap>& map) {
  EXPECT_FALSE(map.ok());
  if (map.ok()) return "";
  EXPECT_EQ(map.error().kind, ErrorKind::kUser);
  EXPECT_TRUE(map.error().message.starts_with("here is not a label map: ")) << map.error().message;
  return map.error().message;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Json Parsed(const std::string& text) { return *ParseJson(text, "test"); }

TEST(LabelMap, SparseNumbersKeepTheirPlaces) {
  const LabelMap sparse = {{1, "person"}, {90, "toothbrush"}};
  EXPECT_EQ(Labels(LabelsById(Parsed(R"({"90": "toothbrush", "1": "person"})"), "here")), sparse);
  EXPECT_EQ(Labels(IdsByLabel(Parsed(R"({"toothbrush": 90, "person": "1"})"), "here")), sparse);
  EXPECT_EQ(Labels(LabelsOfText("{90: 'toothbrush', 1: \"person\"}", "here")), sparse);
  EXPECT_EQ(Labels(LabelsOfYaml("nc: 91\nnames:\n  1: person\n  90: toothbrush\n", "here")),
            sparse);
  const LabelMap list = {{0, "a"}, {1, "b"}};
  EXPECT_EQ(Labels(LabelsById(Parsed(R"(["a", "b"])"), "here")), list);
  EXPECT_EQ(Labels(LabelsOfText("['a', 'b']", "here")), list);
  EXPECT_EQ(Labels(LabelsOfText(R"({"0": "a", "1": "b"})", "here")), list);
  EXPECT_EQ(Labels(LabelsOfYaml("names: [a, b]", "here")), list);
}

TEST(LabelMap, PythonTextIsReadWithItsQuoting) {
  EXPECT_EQ(
      Labels(LabelsOfText(" { 0 : 'it\\'s' , 1: \"driver's\", 2: 'a\\\\b', '3': 'caf\\xe9', "
                          "4: '\\u20ac', 5: '{x: ,}', } ",
                          "here")),
      (LabelMap{{0, "it's"}, {1, "driver's"}, {2, "a\\b"}, {3, "café"}, {4, "€"}, {5, "{x: ,}"}}));
  EXPECT_TRUE(Labels(LabelsOfText("{}", "here")).empty());
  for (const char* text : {"", "person", "{0: 'a'", "{0: 'a", "{0 'a'}", "{0: a}", "{'x': 'a'}",
                           "{0: 'a'} x", "{0: 'a' 1: 'b'}", "[1, 2]", "{0: None}", "{0: '\\x1'}",
                           "{0: '\\U0011ffff'}", "__import__('os')", "{0: '\\", "\"text\"", "7"}) {
    EXPECT_FALSE(Wrong(LabelsOfText(text, "here")).empty()) << text;
  }
}

TEST(LabelMap, LabelsAloneAreTakenInTheirOrder) {
  const LabelMap list = {{0, "text"}, {1, "figure_caption"}, {2, "table"}};
  EXPECT_EQ(Labels(LabelsOfText("text\nfigure_caption\ntable", "here")), list);
  EXPECT_EQ(Labels(LabelsOfText("text\r\nfigure_caption\r\ntable\r\n", "here")), list);
  EXPECT_EQ(Labels(LabelsOfText("text, figure_caption,table", "here")), list);
  EXPECT_TRUE(Has(Wrong(LabelsOfText("text\n\ntable\n", "here")), "class 1 is empty"));
}

TEST(LabelMap, WrongEntriesAreNamed) {
  EXPECT_TRUE(Has(Wrong(LabelsById(Parsed(R"({"-1": "a"})"), "here")), "'-1' is not a class"));
  EXPECT_TRUE(Has(Wrong(LabelsById(Parsed(R"({"1.5": "a"})"), "here")), "'1.5'"));
  EXPECT_TRUE(Has(Wrong(LabelsById(Parsed(R"({"x": "a"})"), "here")), "'x'"));
  EXPECT_TRUE(Has(Wrong(LabelsById(Parsed(R"({"99999999999": "a"})"), "here")), "99999999999"));
  EXPECT_TRUE(Has(Wrong(LabelsById(Parsed(R"({"3": 7})"), "here")), "class 3 is no text"));
  EXPECT_TRUE(Has(Wrong(LabelsById(Parsed(R"({"3": null})"), "here")), "class 3 is no text"));
  EXPECT_TRUE(Has(Wrong(LabelsById(Parsed(R"({"1": "a", "01": "b"})"), "here")),
                  "class 1 is there twice, as 'a' and 'b'"));
  EXPECT_TRUE(Has(Wrong(IdsByLabel(Parsed(R"({"a": 1, "b": 1})"), "here")), "twice"));
  EXPECT_TRUE(Has(Wrong(IdsByLabel(Parsed(R"({"a": -1})"), "here")), "'-1'"));
  EXPECT_TRUE(Has(Wrong(IdsByLabel(Parsed(R"({"a": [1]})"), "here")), "'a' has no class number"));
  EXPECT_TRUE(Has(Wrong(LabelsOfText("{0: 'a', 0: 'b'}", "here")), "twice"));
  EXPECT_TRUE(Has(Wrong(LabelsOfText("{-1: 'a'}", "here")), "'-1'"));
  EXPECT_TRUE(Has(Wrong(LabelsOfYaml("names: {0: [a]}", "here")), "class 0 is no text"));
  EXPECT_TRUE(Has(Wrong(LabelsOfYaml("names: {-1: a}", "here")), "'-1'"));
}

TEST(LabelMap, OtherYamlFilesHaveNoLabels) {
  EXPECT_EQ(Labels(LabelsOfYaml("arch: DETR\nlabel_list:\n- a\n- b\n", "here")),
            (LabelMap{{0, "a"}, {1, "b"}}));
  for (const char* text : {"", "a: b", "- a", "names: a", "names:", "{", "names: {[a]: b}"}) {
    EXPECT_TRUE(Labels(LabelsOfYaml(text, "here")).empty()) << text;
  }
}

TEST(LabelMap, MembersThatAParserWouldHideAreFound) {
  const std::string repeated = R"({"x": {"0": 1, "0": 2}, "id2label": {"0": "a", "0": "b"}})";
  EXPECT_FALSE(CheckNoRepeatedMember(repeated, "id2label", "here").ok());
  EXPECT_TRUE(CheckNoRepeatedMember(repeated, "label2id", "here").ok());
  EXPECT_TRUE(
      CheckNoRepeatedMember(R"({"y": [{"id2label": {"0": 1, "0": 2}}], "id2label": {"0": "a"}})",
                            "id2label", "here")
          .ok());
  EXPECT_TRUE(CheckNoRepeatedMember("{", "id2label", "here").ok());
}

TEST(LabelMap, PlaceholdersAreKnown) {
  EXPECT_TRUE(ArePlaceholders({{0, "LABEL_0"}, {1, "LABEL_1"}}));
  EXPECT_FALSE(ArePlaceholders({{0, "LABEL_0"}, {1, "LABEL_0"}}));
  EXPECT_FALSE(ArePlaceholders({{0, "person"}}));
  EXPECT_FALSE(ArePlaceholders({}));
}

}  // namespace
}  // namespace sg

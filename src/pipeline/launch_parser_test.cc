#include "pipeline/launch_parser.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace sg {
namespace {

Graph Parsed(const std::string& text) {
  auto graph = ParseLaunch(text, "");
  EXPECT_TRUE(graph.ok()) << text << ": " << (graph.ok() ? "" : graph.error().message);
  return graph.ok() ? *graph : Graph{};
}

std::string ErrorOf(const std::string& text) {
  auto graph = ParseLaunch(text, "");
  return graph.ok() ? "no error" : graph.error().message;
}

std::string Bytes(const std::string& text, const GraphPlace& place) {
  return text.substr(place.begin, place.end - place.begin);
}

TEST(LaunchParser, PropertiesHaveValuesAndTheirBytes) {
  const std::string text =
      "fakesrc  num-buffers = (int)5 a::b=c\n ! filesink location=\"a \\\"b\" name=out";
  const auto graph = Parsed(text);
  ASSERT_EQ(graph.elements.size(), 2u);
  const auto& buffers = graph.elements[0].properties.at(0);
  EXPECT_EQ(buffers.name, "num-buffers");
  EXPECT_EQ(buffers.value, "(int)5");
  EXPECT_EQ(buffers.type_hint, "int");
  EXPECT_EQ(Bytes(text, buffers.value_place), "(int)5");
  EXPECT_EQ(graph.elements[0].Find("a::b")->value, "c");
  EXPECT_EQ(graph.elements[1].Find("location")->value, "a \"b");
  EXPECT_EQ(graph.elements[1].name, "out");
  EXPECT_EQ(graph.elements[1].place.line, 2);
  EXPECT_EQ(graph.elements[1].place.column, 4);
}

TEST(LaunchParser, ReferencesMayComeBeforeWhatTheyName) {
  const auto graph = Parsed("a. ! fakesink  fakesrc ! m.sink_0  tee name=a  mux name=m");
  ASSERT_EQ(graph.links.size(), 2u);
  EXPECT_EQ(graph.links[0].from.element, 2);
  EXPECT_EQ(graph.links[1].to.element, 3);
  EXPECT_EQ(graph.links[1].to.pads, std::vector<std::string>{"sink_0"});
}

TEST(LaunchParser, CapsFiltersAndDelayedLinks) {
  const auto graph =
      Parsed("a ! video/x-raw(memory:NVMM), format=NV12 ; video/x-raw ! b : c .x,y ! .p,q d");
  ASSERT_EQ(graph.links.size(), 3u);
  EXPECT_EQ(graph.links[0].caps, "video/x-raw(memory:NVMM), format=NV12 ; video/x-raw");
  EXPECT_FALSE(graph.links[0].all_pads);
  EXPECT_TRUE(graph.links[1].all_pads);
  EXPECT_EQ(graph.links[2].to.pads, (std::vector<std::string>{"p", "q"}));
}

TEST(LaunchParser, BinsHoldElementsAndLinkThroughTheirEnds) {
  const auto graph = Parsed("s ! bin.( name=x a ! ( b ) ) ! t");
  ASSERT_EQ(graph.elements.size(), 6u);
  EXPECT_EQ(graph.elements[1].name, "x");
  EXPECT_EQ(graph.elements[2].bin, 1);
  EXPECT_EQ(graph.elements[4].bin, 3);
  ASSERT_EQ(graph.links.size(), 3u);
  EXPECT_EQ(graph.links[1].to.element, 2);
  EXPECT_EQ(graph.links[2].from.element, 4);
}

TEST(LaunchParser, ShellLinesAreReadAsGstLaunchReadsThem) {
  const std::string text =
      "GST_DEBUG=3 env A=b gst-launch-1.0 -e -v filesrc location='a b.mp4' ! \\\n"
      "  'video/x-raw(memory:NVMM), format=NV12' ! fakesink -v | tee log";
  const auto graph = Parsed(text);
  ASSERT_EQ(graph.elements.size(), 2u);
  EXPECT_EQ(graph.elements[0].Find("location")->value, "a b.mp4");
  EXPECT_EQ(graph.links[0].caps, "video/x-raw(memory:NVMM), format=NV12");
  EXPECT_EQ(graph.elements[1].place.line, 2);
  EXPECT_EQ(Bytes(text, graph.elements[1].place), "fakesink");
}

TEST(LaunchParser, UrisPresetsAndComments) {
  const auto graph = Parsed("file:///a.mp4 ! d @preset=\"Fast One\" # more\n ! file:///b");
  ASSERT_EQ(graph.elements.size(), 3u);
  EXPECT_EQ(graph.elements[0].uri, "file:///a.mp4");
  EXPECT_EQ(graph.elements[1].presets, std::vector<std::string>{"Fast One"});
  EXPECT_EQ(graph.elements[2].uri, "file:///b");
}

TEST(LaunchParser, ErrorsSayLineAndColumn) {
  EXPECT_EQ(ErrorOf(""), "1:1: the pipeline is empty");
  EXPECT_EQ(ErrorOf("a ! b !"), "1:7: this link leads to nothing");
  EXPECT_EQ(ErrorOf("a !\n nobody."), "2:2: no element is named \"nobody\"");
  EXPECT_EQ(ErrorOf("a ! ( b"), "1:5: this bracket is not closed");
  EXPECT_EQ(ErrorOf("a ! ( )"), "1:5: this bin is empty");
  EXPECT_EQ(ErrorOf("! a"), "1:1: a link where an element is expected");
  EXPECT_EQ(ErrorOf("a )"), "1:3: unexpected \")\"");
  EXPECT_EQ(ErrorOf("a name=x  x."), "1:11: the reference \"x.\" is linked to nothing");
  EXPECT_NE(ErrorOf(std::string(100000, '(')), "no error");
}

TEST(LaunchParser, PrintedGraphsAreReadBackTheSame) {
  for (const std::string text :
       {"a ! b ! c", "a p=\"x \\\" y\" q=\\ z e=\"\" ! b", "a ! t.  b ! t. m name=t ! c",
        "x. ! b  c name=x ! video/x-raw,a=\\(int\\)1 : d", "m name=m a ! m.s_0 b .x ! .y c",
        "file:///a\\ b ! c @preset=\"f g\"", "a b c ! d", "s ! ( name=x a ! ( b ) ) ! t",
        "( a ! b ) c", "a p=C:\\\\x ! b", "x. ! y. a name=x b name=y", "q ! q1. q q",
        "a name=z ! ( b ! o. c ) o name=o"}) {
    const auto graph = Parsed(text);
    const auto printed = PrintLaunch(graph);
    ASSERT_TRUE(printed.ok()) << text << ": " << printed.error().message;
    const auto again = ParseLaunch(*printed, "");
    ASSERT_TRUE(again.ok()) << *printed << ": " << again.error().message;
    EXPECT_TRUE(SameGraph(graph, *again)) << text << "\n" << *printed;
  }
}

}  // namespace
}  // namespace sg

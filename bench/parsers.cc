// How long a generated parser takes for one frame, compiled as its Makefile compiles it.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <random>

#include "base/testing.h"
#include "detector/parser_library.h"
#include "detector/parser_source.h"

namespace sg {
namespace {

/// A head with `rows` boxes of 80 classes, of which about `hits` reach the threshold.
struct Case {
  const char* name;
  Head head;
  int hits;
};

Head Queries() {
  Head head;
  head.num_classes = 80;
  head.outputs = {{OutputRole::kScores, "logits", {300, 80}, TensorType::kFloat},
                  {OutputRole::kBoxes, "pred_boxes", {300, 4}, TensorType::kFloat}};
  return head;
}

Head Rows(bool channels_first, bool objectness) {
  Head head;
  head.kind = HeadKind::kDenseRows;
  head.num_classes = 80;
  head.activation = Activation::kNone;
  head.box_unit = BoxUnit::kPixels;
  head.channels_first = channels_first;
  head.objectness = objectness;
  const int columns = objectness ? 85 : 84;
  const int points = objectness ? 25200 : 8400;
  head.outputs = {
      {OutputRole::kRows, "output0",
       channels_first ? std::vector<int>{columns, points} : std::vector<int>{points, columns},
       TensorType::kFloat}};
  return head;
}

/// Raises a class (and the objectness) of `hits` rows spread over the frame.
void PlantHits(const Case& parser, const HeadOutput& output, std::vector<float>* numbers) {
  if (output.role == OutputRole::kBoxes) return;
  const bool first = parser.head.channels_first;
  const auto points = static_cast<size_t>(output.dims[first ? 1 : 0]);
  const auto columns = static_cast<size_t>(output.dims[first ? 0 : 1]);
  const auto at = [&](size_t point, size_t column) -> float& {
    return (*numbers)[first ? column * points + point : point * columns + column];
  };
  const float high = parser.head.activation == Activation::kSigmoid ? 2.0F : 0.9F;
  for (int i = 0; i < parser.hits; ++i) {
    const size_t point = static_cast<size_t>(i) * points / static_cast<size_t>(parser.hits);
    at(point, columns - 1 - static_cast<size_t>(i) % 80) = high;
    if (parser.head.objectness) at(point, 4) = high;
  }
}

void ParseFrame(benchmark::State& state, const Case& parser) {
  ModelCard card;
  card.name = parser.name;
  card.input_width = card.input_height = 640;
  card.head = parser.head;
  const TempFolder folder;
  const ParserSource source = GenerateParser(card);
  if (!WriteParser(source, folder.path()).ok()) return state.SkipWithError("cannot write");
  const auto path = CompileParser(folder.path(), source.names);
  if (!path.ok()) return state.SkipWithError(path.error().message.c_str());
  const auto library = ParserLibrary::Load(*path, source.names.function_name);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> noise(0, 0.05F);
  const bool logits = parser.head.activation == Activation::kSigmoid;
  std::vector<std::vector<float>> values;
  std::vector<NvDsInferLayerInfo> layers;
  for (const HeadOutput& output : parser.head.outputs) {
    const size_t size = static_cast<size_t>(output.dims[0]) * static_cast<size_t>(output.dims[1]);
    std::vector<float>& numbers = values.emplace_back(size);
    for (float& value : numbers) value = logits ? noise(random) * 100 - 8 : noise(random);
    PlantHits(parser, output, &numbers);
    layers.push_back(
        DescribeOutput({output.name.c_str(), output.dims, TensorType::kFloat, numbers.data()}));
  }
  const std::vector<float> thresholds(80, 0.25F);
  const auto params = DetectionParams(thresholds, thresholds);
  std::vector<Box> boxes;
  for (auto _ : state) {
    if (!library->Parse(layers, {640, 640, 3}, params, &boxes))
      return state.SkipWithError("refused");
  }
  state.counters["boxes"] = static_cast<double>(boxes.size());
}

}  // namespace
}  // namespace sg

int main(int argc, char** argv) {
  using sg::Case;
  const Case cases[] = {{"detr-300x80", sg::Queries(), 100},
                        {"yolo-v8-84x8400", sg::Rows(true, false), 100},
                        {"yolo-v8-8400x84", sg::Rows(false, false), 100},
                        {"yolo-v5-25200x85", sg::Rows(false, true), 100}};
  for (const Case& parser : cases)
    benchmark::RegisterBenchmark(parser.name, [parser](benchmark::State& state) {
      sg::ParseFrame(state, parser);
    })->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

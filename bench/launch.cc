// Time to read a launch string of N elements, with a caps filter and a property at each.
#include <benchmark/benchmark.h>

#include <string>

#include "pipeline/launch_parser.h"

namespace {

std::string Chain(int64_t elements) {
  std::string text = "videotestsrc num-buffers=10";
  for (int64_t i = 1; i < elements; ++i)
    text += " ! video/x-raw,format=NV12 ! identity name=e" + std::to_string(i) + " sleep-time=1";
  return text;
}

void BM_ParseLaunch(benchmark::State& state) {
  const std::string text = Chain(state.range(0));
  for (auto _ : state) {
    const auto graph = sg::ParseLaunch(text, "");
    if (!graph.ok()) state.SkipWithError(graph.error().message.c_str());
    benchmark::DoNotOptimize(&graph);
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_ParseLaunch)->Arg(1000)->Arg(10000)->Arg(100000)->Complexity();

}  // namespace

BENCHMARK_MAIN();

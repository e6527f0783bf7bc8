// Faults that people make in parsers, planted in the generated source one at a time: the proof must
// notice every one of them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/testing.h"
#include "detector/heads/test_heads.h"
#include "detector/parser_source.h"
#include "detector/proof_tensors.h"

namespace sg {
namespace {

/// A piece of the source and what a fault makes of it. Each must be in the source.
struct Fault {
  const char* right;
  const char* wrong;
};

struct Mutated {
  const char* head;
  std::vector<Fault> faults;
};

/// Faults of what all parsers share.
const std::vector<Fault> kSharedFaults = {
    {"clamp(bottom, height)", "clamp(bottom, width)"},
    {"obj.detectionConfidence = score;", "obj.detectionConfidence = 1.0f;"},
    {"clamp(right, width) - obj.left", "clamp(right, width)"},
    {"size - 1.0f", "size"},
};

const std::vector<Mutated>& Mutations() {
  static const std::vector<Mutated> kMutations = {
      {"detr-sigmoid",
       {{"box[0] - box[2] / 2", "box[0] - box[2]"},
        {"box[1] + box[3] / 2", "box[1] + box[2] / 2"},
        {"1.0f / (1.0f + std::exp(-x))", "1.0f / (1.0f + std::exp(x))"},
        {"beforeSigmoid(thresholds[id])", "beforeSigmoid(thresholds[kNumClasses - 1])"},
        {"static_cast<size_t>(candidates[i].query) * 4", "i * 4"},
        {"candidates.resize(queries)", "candidates.resize(queries - 1)"},
        {"query * kColumns", "query * (kColumns - 1)"}}},
      {"detr-softmax",
       {{"if (i == kBackground || !std::isfinite(row[i])) continue;",
         "if (!std::isfinite(row[i])) continue;"},
        {"scores[i] /= sum", "scores[i] /= 1.0f"},
        {"row[i] - largest", "row[i] / 2 - largest / 2"},
        {"const unsigned int kBackground = 5;", "const unsigned int kBackground = 4;"},
        {"score > best.score", "score < best.score"},
        {"best.classId = id;", "best.classId = 0;"}}},
      {"yolo-v8",
       {{"boxes + 4 * points", "boxes + 5 * points"},
        {"from[2 * points]", "from[points]"},
        {"alive[start] |=", "alive[start] &="},
        {"size_t start = 0;", "size_t start = kBlock;"},
        {"bestScore = score;", "bestScore = 0.0f;"},
        {"score > bestScore", "score >= bestScore"},
        {"score >= thresholds[id]", "score >= 0.5f"}}},
      {"yolo-v5",
       {{"objectness * raw", "raw"},
        {"boxes + 5 * 1", "boxes + 4 * 1"},
        {"point * 11", "point * 10"},
        {"objectnesses[point * 11]", "objectnesses[point]"},
        {"box[3] / 2", "box[3]"},
        {"best = id;", "best = 0;"},
        {"!(objectness >= thresholds[id])", "!(objectness >= 0.0f)"}}},
      {"yolox-grid",
       {{"point % grid.columns", "point / grid.columns"},
        {"box[2] = std::exp(box[2])", "box[2] = box[2]"},
        {"point -= grid.rows * grid.columns;", "point -= grid.rows;"},
        {"* grid.stride;\n    box[1]", ";\n    box[1]"}}},
      {"tf-detection",
       {{"box[1] * out.width", "box[0] * out.width"},
        {"box[3] * out.width", "box[3] * out.height"},
        {"label >= 0.0f", "label >= -5.0f"},
        {"label < static_cast<float>(kNumClasses)", "label < static_cast<float>(kNumClasses - 1)"},
        {"real[0] < static_cast<float>(count)", "false"},
        {"real[0] > 0.0f", "real[0] > 5.0f"},
        {"score >= out.thresholds[classId]", "score >= out.thresholds[0] + 0.1f"}}},
      {"end-to-end",
       {{"row[4]", "row[5]"},
        {"row[5]", "row[4]"},
        {"row + 0", "row + 1"},
        {"i * kColumns", "i * (kColumns - 1)"}}},
      {"onnx-nms",
       {{"row[0] != 0.0f", "row[0] < 0.0f"},
        {"classId * number + index", "index"},
        {"index * 4", "i * 4"},
        {"row[2] < static_cast<float>(number)", "row[2] < static_cast<float>(number) - 2"},
        {"box[1], box[0]", "box[0], box[1]"},
        {"score >= out.thresholds[classId]", "score >= 0.0f"}}},
      {"picodet",
       {{"largest = std::max(largest, raw[i * step])", "largest = raw[0]"},
        {"weighted / sum", "weighted"},
        {"static_cast<float>(i);\n  }\n  return", "static_cast<float>(i + 1);\n  }\n  return"},
        {"raw + 1 * kBins * step", "raw + 2 * kBins * step"},
        {"cell % level.columns", "cell / level.columns"},
        {"y - expectation", "x - expectation"},
        {"score >= out.thresholds[id]", "score > out.thresholds[id]"}}},
      {"retinanet",
       {{"raw[0] * width", "raw[0] * height"},
        {"cx - w / 2", "cx - w"},
        {"std::exp(raw[2 * step]", "std::exp(raw[step]"},
        {"level.sizes[2 * anchor + 1]", "level.sizes[2 * anchor]"},
        {"anchor * level.scores.anchor", "anchor"},
        {"+ 0.5f", "+ 0.0f"}}},
      {"fcos",
       {{"objectness * sigmoid(raw)", "sigmoid(raw)"},
        {"raw[2 * step] * level.stride", "raw[2 * step]"},
        {"x - raw[0 * step]", "x + raw[0 * step]"},
        {"sigmoid(objectnesses", "(objectnesses"}}},
      {"yolo-v3",
       {{"anchor * std::exp(*size)", "anchor * *size"},
        {"static_cast<float>(cell) + where", "where"},
        {"(level.centreScale - 1.0f) / 2.0f", "0.0f"},
        {"level.sizes[2 * anchor + 1]", "level.sizes[2 * anchor]"},
        {"values[(5 + id) * step]", "values[(4 + id) * step]"},
        {"objectness * sigmoid(value)", "sigmoid(value)"},
        {"anchor * level.anchorStep", "level.anchorStep"},
        {"fromAnchor(level, row,", "fromAnchor(level, column,"}}},
      {"yolo-v5-raw",
       {{"anchor * twice * twice", "anchor * twice"},
        {"2.0f * where - 0.5f", "where"},
        {"2.0f * sigmoid(*size)", "sigmoid(*size)"}}},
      {"detectnet-v2",
       {{"x - kEdgeUnit * left[cell]", "x + kEdgeUnit * left[cell]"},
        {"kEdgeUnit = 35.0f", "kEdgeUnit = 36.0f"},
        {"kStride + 0.5f;\n      const float y", "kStride;\n      const float y"},
        {"cell / kColumns", "cell / kRows"},
        {"* 4 * cells", "* cells"},
        {"left[cell + 3 * cells], id", "left[cell + 2 * cells], id"},
        {"score >= out.thresholds[id]", "score >= out.thresholds[0] - 0.1f"}}},
      {"ssd-softmax",
       {{"columns[i * step] - largest", "columns[i * step]"},
        {"if (i == 0) continue;  // no object", "if (i == 1) continue;"},
        {"box[0] + box[2]", "box[2]"},
        {"scores[i] /= sum", "scores[i] /= 2.0f"}}},
  };
  return kMutations;
}

/// Nothing when the proof notices; else why it did not.
std::string Unnoticed(const ModelCard& card, const Fault& fault) {
  ParserSource source = GenerateParser(card);
  const size_t at = source.cpp.find(fault.right);
  if (at == std::string::npos) return "is not in the source";
  source.cpp.replace(at, std::string(fault.right).size(), fault.wrong);
  const TempFolder folder;
  if (!WriteParser(source, folder.path()).ok()) return "cannot be written";
  const auto path = CompileParser(folder.path(), source.names);
  if (!path.ok()) return "does not compile: " + path.error().message;
  const auto library = ParserLibrary::Load(*path, source.names.function_name);
  if (!library.ok()) return library.error().message;
  ProofTensorsRequest request;
  request.network_width = kTestWidth;
  request.network_height = kTestHeight;
  request.batches.assign(25, 4);
  // A process of its own: a fault may also crash, or never end.
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const auto proof =
        ProveParser(*library, card, MakeProofTensors(card.head, request), request.score_threshold);
    _exit(proof.ok() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "is not noticed" : "";
}

class MutationTest : public testing::TestWithParam<Mutated> {
 protected:
  // What is tested is the text; quick compilation matters more than a quick parser.
  void SetUp() override { setenv("CXXFLAGS", "-O1", 1); }
};

TEST_P(MutationTest, EveryPlantedFaultFailsTheProof) {
  const std::vector<TestHead> heads = TestHeads();
  const auto head = std::find_if(heads.begin(), heads.end(),
                                 [](const TestHead& test) { return test.name == GetParam().head; });
  ASSERT_NE(head, heads.end());
  std::vector<Fault> faults = GetParam().faults;
  faults.insert(faults.end(), kSharedFaults.begin(), kSharedFaults.end());
  for (const Fault& fault : faults) EXPECT_EQ(Unnoticed(CardOf(*head), fault), "") << fault.right;
}

INSTANTIATE_TEST_SUITE_P(Heads, MutationTest, testing::ValuesIn(Mutations()),
                         [](const testing::TestParamInfo<Mutated>& mutated) {
                           std::string name = mutated.param.head;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace sg

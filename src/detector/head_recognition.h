// Finds out how a graph's outputs become boxes: every family is asked, each answer comes with what
// it is based on, and what several families could read is settled by a trial on real frames
// (head_trial.h) or by the user.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "detector/head.h"
#include "detector/output_trace.h"
#include "onnx/onnx_file.h"

namespace sg {

/// What there is to judge by.
struct HeadQuestion {
  const OnnxSummary& onnx;
  std::map<std::string, OutputTrace> traces;  ///< empty when the graph cannot be read
  const Json& config;                         ///< config.json; an empty object when there is none
  std::string architecture;                   ///< "DetrForObjectDetection"; may be empty
  int labels = 0;                             ///< 0: unknown
  int input_width = 0;
  int input_height = 0;

  /// nullptr when the graph is not known.
  const OutputTrace* Trace(const std::string& output) const;
};

/// One fact that speaks for a head.
struct HeadEvidence {
  std::string text;
  /// False for a shape, which alone never settles anything between two heads.
  bool decides = true;
};

struct HeadCandidate {
  Head head;
  std::vector<HeadEvidence> evidence;
  /// A rare reading, taken only when --head names it.
  bool only_if_asked = false;

  void Shape(const std::string& text) { evidence.push_back({text, false}); }
  void Fact(const std::string& text) { evidence.push_back({text, true}); }
  bool HasFacts() const;
};

/// "yolo-v8 (output0 [84,8400]: 4 + 80 rows; the graph ends in a Sigmoid of the classes)".
std::string CandidateText(const HeadCandidate& candidate);

/// Every head that fits the outputs and the labels, best founded first: when any has facts for it
/// beyond shapes, those that have none are left out. One: that is the head. `wanted` (--head) keeps
/// a family. kUnsupported when nothing fits, kUser when the classes are not as many as the labels
/// (both numbers are named) or `wanted` does not fit.
Result<std::vector<HeadCandidate>> RecogniseHead(const HeadQuestion& question,
                                                 const std::string& wanted);

}  // namespace sg

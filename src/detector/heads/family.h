// What a way of decoding (HeadKind) is made of, and the pieces that the reference decoders share.
// docs/add_a_model_family.md is the checklist for a new one.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "detector/decoder.h"
#include "detector/head.h"
#include "detector/head_recognition.h"

namespace sg {

/// The outputs of one frame in the order of Head::outputs, their shapes checked.
struct HeadTensors {
  const Head& head;
  const DecodeSettings& settings;
  std::vector<TensorView> outputs;

  /// The n-th output of a role, which the head must have.
  const TensorView& Get(OutputRole role, int n = 0) const;
  bool Has(OutputRole role) const { return head.Count(role) > 0; }
};

/// One row of the table in families.cc.
struct HeadFamily {
  HeadKind kind;
  /// Boxes in any order.
  std::vector<Box> (*decode)(const HeadTensors& tensors);
  /// The part of the parser that is the family's own: C++11 text that defines
  /// `bool decode(Layers const&, Boxes&)` with the pieces of heads/parser_text.h.
  std::string (*parser_text)(const Head& head);
  /// Adds every way in which this family could read the outputs.
  void (*recognise)(const HeadQuestion& question, std::vector<HeadCandidate>* candidates);
};
const std::vector<HeadFamily>& HeadFamilies();
const HeadFamily& FamilyOf(HeadKind kind);

struct Corners {
  float left, top, right, bottom;
};
/// Four numbers as corners in pixels of the network's input.
Corners CornersOf(const float (&box)[4], const HeadTensors& tensors);
/// Clamped to the network's input; nullopt when a corner is not finite.
std::optional<Box> ClampedBox(const Corners& corners, const DecodeSettings& settings);

inline float Sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }
/// The activation of a single value; not for a softmax.
inline float Activated(float x, Activation activation) {
  return activation == Activation::kSigmoid ? Sigmoid(x) : x;
}

/// The activation of a row of columns; NaN in place of a value that is not finite.
std::vector<float> ActivatedRow(const std::vector<float>& raw, Activation activation);

/// The family's own texts, filled in: each @KEY@ is replaced, any other @ stays.
using TextValues = std::vector<std::pair<std::string, std::string>>;
std::string Filled(const std::string& text, const TextValues& values);
/// A C++ string literal of any bytes.
std::string CppString(const std::string& text);
/// "{300, 4}": the axes of an output, 0 for one that the data decide.
std::string CppDims(const std::vector<int>& dims);
/// A float literal that reads back as the same value.
std::string CppFloat(float value);
/// The statement that adds the head's box to `out`: `element` is how value {} of it is read, `rest`
/// the class and score that go with it.
std::string CppAddBox(const Head& head, const std::string& element, const std::string& rest);

}  // namespace sg

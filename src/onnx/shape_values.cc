#include "onnx/shape_values.h"

#include <algorithm>

namespace sg {
namespace {

constexpr size_t kLongest = 64;  // longer vectors are no shapes

/// a op b; nullopt where it has no value.
std::optional<int64_t> Apply(const std::string& op, int64_t a, int64_t b) {
  int64_t result = 0;
  if (op == "Add" && !__builtin_add_overflow(a, b, &result)) return result;
  if (op == "Sub" && !__builtin_sub_overflow(a, b, &result)) return result;
  if (op == "Mul" && !__builtin_mul_overflow(a, b, &result)) return result;
  if (op == "Div" && b != 0 && !(a == INT64_MIN && b == -1)) return a / b;
  if (op == "Equal") return a == b;
  if (op == "Max") return std::max(a, b);
  if (op == "Min") return std::min(a, b);
  return std::nullopt;
}

bool IsOneOf(const std::string& op, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return op == name; });
}

/// Element i of a vector that broadcasts when it has one element.
ShapeElement At(const ShapeVector& vector, size_t i) {
  return vector.size() == 1 ? vector[0] : vector[i];
}

}  // namespace

void ShapeValues::Visit(const onnx::NodeProto& node, int batch_axis) {
  if (node.output_size() == 0 || node.input_size() == 0) return;
  if (auto vector = Evaluate(node, batch_axis); vector && vector->size() <= kLongest)
    vectors_[node.output(0)] = *std::move(vector);
}

std::optional<ShapeVector> ShapeValues::Find(const std::string& name) const {
  if (const auto found = vectors_.find(name); found != vectors_.end()) return found->second;
  const auto integers = index_.Integers(name);
  if (!integers || integers->size() > kLongest) return std::nullopt;
  ShapeVector vector;
  for (const int64_t value : *integers) vector.push_back({value, false});
  return vector;
}

std::optional<ShapeVector> ShapeValues::Evaluate(const onnx::NodeProto& node,
                                                 int batch_axis) const {
  const std::string& op = node.op_type();
  if (op == "Shape") return ShapeOf(node, batch_axis);
  if (IsOneOf(op, {"Identity", "Cast", "Unsqueeze", "Squeeze", "Reshape"}))
    return Find(node.input(0));
  if (op == "Slice") return Sliced(node);
  if (op == "Gather" || op == "Where") return Selected(node);
  if (op == "Concat") {
    ShapeVector joined;
    for (const auto& input : node.input()) {
      const auto part = Find(input);
      if (!part) return std::nullopt;
      joined.insert(joined.end(), part->begin(), part->end());
      if (joined.size() > kLongest) return std::nullopt;
    }
    return joined;
  }
  if (op == "ConstantOfShape") {
    const auto shape = Find(node.input(0));
    const onnx::AttributeProto* value = FindAttribute(node, "value");
    if (!shape || shape->size() != 1 || value == nullptr || value->t().int64_data_size() > 1)
      return std::nullopt;
    const auto length = (*shape)[0].value;
    if (length < 0 || length > static_cast<int64_t>(kLongest)) return std::nullopt;
    int64_t element = 0;
    if (value->t().data_type() != onnx::TensorProto::INT64) return std::nullopt;
    if (value->t().int64_data_size() == 1) element = value->t().int64_data(0);
    if (value->t().raw_data().size() == sizeof(element))
      std::copy_n(value->t().raw_data().data(), sizeof(element), reinterpret_cast<char*>(&element));
    return ShapeVector(static_cast<size_t>(length), {element, false});
  }
  return node.input_size() == 2 ? Arithmetic(node) : std::nullopt;
}

std::optional<ShapeVector> ShapeValues::ShapeOf(const onnx::NodeProto& node, int batch_axis) const {
  const auto shape = shapes_.find(node.input(0));
  if (shape == shapes_.end()) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->second.size());
  const auto bound = [rank](int64_t at) {
    return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
  };
  const int64_t start = bound(IntegerAttribute(node, "start", 0));
  const int64_t end = bound(IntegerAttribute(node, "end", rank));
  ShapeVector vector;
  for (int64_t i = start; i < end; ++i) {
    const int64_t size = shape->second[static_cast<size_t>(i)];
    if (size < 0) return std::nullopt;
    vector.push_back({size, i == batch_axis});
  }
  return vector;
}

std::optional<ShapeVector> ShapeValues::Sliced(const onnx::NodeProto& node) const {
  const auto data = Find(node.input(0));
  std::optional<std::vector<int64_t>> starts = IntegersAttribute(node, "starts");
  std::optional<std::vector<int64_t>> ends = IntegersAttribute(node, "ends");
  std::optional<std::vector<int64_t>> steps;
  if (node.input_size() > 2) {
    const auto integers = [&](int i) -> std::optional<std::vector<int64_t>> {
      const auto found = Find(node.input(i));
      if (!found) return std::nullopt;
      std::vector<int64_t> values;
      for (const auto& element : *found) values.push_back(element.value);
      return values;
    };
    starts = integers(1);
    ends = integers(2);
    if (node.input_size() > 4) steps = integers(4);
  }
  if (!data || !starts || !ends || starts->size() != 1 || ends->size() != 1) return std::nullopt;
  if (steps && (steps->size() != 1 || (*steps)[0] != 1)) return std::nullopt;
  const auto size = static_cast<int64_t>(data->size());
  const auto bound = [size](int64_t at) {
    return std::clamp(at < 0 ? at + size : at, int64_t{0}, size);
  };
  const int64_t start = bound((*starts)[0]);
  const int64_t end = std::max(start, bound((*ends)[0]));
  return ShapeVector(data->begin() + start, data->begin() + end);
}

std::optional<ShapeVector> ShapeValues::Selected(const onnx::NodeProto& node) const {
  const auto first = Find(node.input(0));
  if (!first) return std::nullopt;
  ShapeVector picked;
  if (node.op_type() == "Gather") {
    const auto indices = node.input_size() == 2 ? Find(node.input(1)) : std::nullopt;
    if (!indices || IntegerAttribute(node, "axis", 0) != 0) return std::nullopt;
    const auto size = static_cast<int64_t>(first->size());
    for (const auto& index : *indices) {
      const int64_t at = index.value < 0 ? index.value + size : index.value;
      if (at < 0 || at >= size) return std::nullopt;
      picked.push_back((*first)[static_cast<size_t>(at)]);
    }
    return picked;
  }
  if (node.input_size() != 3) return std::nullopt;
  const auto yes = Find(node.input(1));
  const auto no = Find(node.input(2));
  if (!yes || !no) return std::nullopt;
  const size_t size = std::max({first->size(), yes->size(), no->size()});
  for (const ShapeVector* part : {&*first, &*yes, &*no}) {
    if (part->size() != 1 && part->size() != size) return std::nullopt;
  }
  for (size_t i = 0; i < size; ++i)
    picked.push_back(At(*first, i).value != 0 ? At(*yes, i) : At(*no, i));
  return picked;
}

std::optional<ShapeVector> ShapeValues::Arithmetic(const onnx::NodeProto& node) const {
  if (!IsOneOf(node.op_type(), {"Add", "Sub", "Mul", "Div", "Equal", "Max", "Min"}))
    return std::nullopt;
  const auto a = Find(node.input(0));
  const auto b = Find(node.input(1));
  if (!a || !b) return std::nullopt;
  const size_t size = std::max(a->size(), b->size());
  if ((a->size() != 1 && a->size() != size) || (b->size() != 1 && b->size() != size))
    return std::nullopt;
  ShapeVector result;
  for (size_t i = 0; i < size; ++i) {
    const auto value = Apply(node.op_type(), At(*a, i).value, At(*b, i).value);
    if (!value) return std::nullopt;
    // Whether an extent is -1 does not depend on how large the batch is.
    const bool follows = node.op_type() != "Equal" && (At(*a, i).follows || At(*b, i).follows);
    result.push_back({*value, follows});
  }
  return result;
}

}  // namespace sg

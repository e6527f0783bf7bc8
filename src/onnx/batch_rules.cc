// How each kind of operator carries the batch axis (see batch_tracer.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "onnx/batch_tracer.h"

namespace sg {
namespace {

int64_t Product(const std::vector<int64_t>& shape, size_t end) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

bool Contains(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

constexpr int64_t kToTheEnd = INT64_MAX;

/// Where the batch goes when a tensor is laid out anew: it is the slowest part of input axis
/// `axis`, so it is the slowest part of the output axis that starts at the same element. Extents of
/// 1 make several axes start there: the old place is taken if it still fits, else the first one.
std::optional<size_t> AxisAfterReshape(const std::vector<int64_t>& in, size_t axis,
                                       const std::vector<int64_t>& out, int64_t batch) {
  const int64_t outer = Product(in, axis);
  const auto fits = [&](size_t j) {
    return Product(out, j) == outer && out[j] >= batch && out[j] % batch == 0;
  };
  if (axis < out.size() && out[axis] == in[axis] && fits(axis)) return axis;
  for (size_t j = 0; j < out.size(); ++j) {
    if (fits(j)) return j;
  }
  return std::nullopt;
}

/// The attribute "axis" (0 by default), counted from the front.
int64_t AxisAttribute(const onnx::NodeProto& node, int rank) {
  const int64_t axis = IntegerAttribute(node, "axis", 0);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

int BatchTracer::SameInAllInputs(const Visit& visit) {
  for (int i = 0; i < visit.node.input_size(); ++i) {
    const int carried = AxisOf(visit.node.input(i));
    if (carried == kNone)
      NeedFollow(visit, i, visit.axis);
    else if (carried != visit.axis)
      return Blocked(visit, "combines values whose batch is at different axes");
  }
  return visit.axis;
}

int BatchTracer::Elementwise(const Visit& visit) {
  const Shape* out = OutputShape(visit);
  const int out_rank =
      out != nullptr ? static_cast<int>(out->size()) : Rank(visit.node.input(visit.from));
  const int axis = out_rank - Rank(visit.node.input(visit.from)) + visit.axis;
  for (int i = 0; i < visit.node.input_size(); ++i) {
    const std::string& operand = visit.node.input(i);
    const int rank = Rank(operand);
    if (operand.empty() || rank == kNone) continue;
    const int own = axis - (out_rank - rank);  // where the batch's axis is in this operand
    const int carried = AxisOf(operand);
    if (carried != kNone && carried != own)
      return Blocked(visit, "combines values whose batch is at different axes");
    if (carried != kNone || own < 0) continue;
    if (own >= rank) return Blocked(visit, "has shapes that do not fit together");
    const Shape* shape = ShapeOf(operand);
    const onnx::TensorProto* constant = index_.Constant(operand);
    const int64_t extent = shape != nullptr      ? (*shape)[static_cast<size_t>(own)]
                           : constant != nullptr ? constant->dims(own)
                                                 : 1;
    if (extent != 1) NeedFirstCopy(visit, i, own);
  }
  return axis;
}

int BatchTracer::Reshape(const Visit& visit) {
  if (visit.from != 0) return AxisFromShape(visit.node);
  const Shape* in = ShapeOf(visit.node.input(0));
  const Shape* out = OutputShape(visit);
  if (in == nullptr || out == nullptr)
    return Blocked(visit, "has a shape that could not be worked out");
  const auto found = AxisAfterReshape(*in, static_cast<size_t>(visit.axis), *out, batch_);
  if (!found) {
    return Blocked(visit, fmt::format("makes [{}] of [{}], which puts the pictures together",
                                      fmt::join(*out, ","), fmt::join(*in, ",")));
  }
  const auto axis = static_cast<int>(*found);
  const auto shape = visit.node.input_size() > 1 ? values_.Find(visit.node.input(1)) : std::nullopt;
  if (!shape || shape->size() != out->size()) return axis;  // computed: the run will tell
  const ShapeElement& element = (*shape)[*found];
  const bool copies = element.value == 0 && axis == visit.axis && (*in)[*found] == (*out)[*found] &&
                      IntegerAttribute(visit.node, "allowzero", 0) == 0;
  if (element.follows || element.value == -1 || copies) return axis;
  if (std::count_if(out->begin(), out->end(), [](int64_t dim) { return dim < 0; }) > 0)
    return Blocked(visit, "holds the batch beside an axis that the picture decides");
  BatchEdit edit;
  edit.input = 1;
  edit.integers = *out;
  edit.integers[*found] = -1;
  std::vector<int64_t> held;
  for (const auto& part : *shape) held.push_back(part.value);
  Change(visit,
         fmt::format("has the constant shape [{}], which holds batch {}", fmt::join(held, ","),
                     batch_),
         edit);
  return axis;
}

int BatchTracer::Flatten(const Visit& visit) {
  const Shape* in = ShapeOf(visit.node.input(0));
  if (in == nullptr) return Blocked(visit, "has a shape that could not be worked out");
  const auto rank = static_cast<int64_t>(in->size());
  int64_t split = IntegerAttribute(visit.node, "axis", 1);
  split = std::clamp(split < 0 ? split + rank : split, int64_t{0}, rank);
  const auto axis = static_cast<size_t>(visit.axis);
  const bool leads = visit.axis < split
                         ? Product(*in, axis) == 1
                         : Product(*in, axis) == Product(*in, static_cast<size_t>(split));
  if (!leads) return Blocked(visit, "flattens the pictures into another axis");
  return visit.axis < split ? 0 : 1;
}

int BatchTracer::Transpose(const Visit& visit) {
  const auto order = IntegersAttribute(visit.node, "perm");
  const int rank = Rank(visit.node.input(0));
  if (!order) return rank - 1 - visit.axis;
  for (size_t i = 0; i < order->size(); ++i) {
    if ((*order)[i] == visit.axis) return static_cast<int>(i);
  }
  return Blocked(visit, "has a permutation that leaves the batch out");
}

int BatchTracer::Squeeze(const Visit& visit) {
  const Shape* in = ShapeOf(visit.node.input(0));
  if (in == nullptr) return Blocked(visit, "has a shape that could not be worked out");
  const auto axes = Axes(visit.node, static_cast<int>(in->size()));
  int gone = 0;
  for (int i = 0; i < static_cast<int>(in->size()); ++i) {
    const bool removed = axes ? Contains(*axes, i) : (*in)[static_cast<size_t>(i)] == 1;
    if (!removed) continue;
    if (i == visit.axis) return Blocked(visit, "removes the batch axis");
    if (i < visit.axis) ++gone;
  }
  return visit.axis - gone;
}

int BatchTracer::Unsqueeze(const Visit& visit) {
  const int rank = Rank(visit.node.input(0));
  std::optional<std::vector<int64_t>> axes = IntegersAttribute(visit.node, "axes");
  if (!axes && visit.node.input_size() > 1) axes = index_.Integers(visit.node.input(1));
  if (!axes || rank == kNone) return Blocked(visit, "has axes that are computed");
  const int out_rank = rank + static_cast<int>(axes->size());
  for (int64_t& axis : *axes) axis += axis < 0 ? out_rank : 0;
  int left = visit.axis;
  for (int i = 0; i < out_rank; ++i) {
    if (Contains(*axes, i)) continue;
    if (left-- == 0) return i;
  }
  return Blocked(visit, "has axes that do not exist");
}

int BatchTracer::Concat(const Visit& visit) {
  const int rank = Rank(visit.node.input(visit.from));
  const int64_t along = AxisAttribute(visit.node, rank);
  if (along == visit.axis) return Blocked(visit, "joins values along the batch axis");
  return SameInAllInputs(visit);
}

int BatchTracer::Slice(const Visit& visit) {
  if (visit.from != 0) return Blocked(visit, "slices where the pictures say");
  const int rank = Rank(visit.node.input(0));
  const bool by_input = visit.node.input_size() > 2;
  const auto part = [&](int input, const char* name) -> std::optional<ShapeVector> {
    if (by_input)
      return input < visit.node.input_size() ? values_.Find(visit.node.input(input)) : std::nullopt;
    const auto integers = IntegersAttribute(visit.node, name);
    if (!integers) return std::nullopt;
    ShapeVector vector;
    for (const int64_t value : *integers) vector.push_back({value, false});
    return vector;
  };
  const auto starts = part(1, "starts");
  const auto ends = part(2, "ends");
  const auto axes = part(3, "axes");
  if (!starts || !ends || starts->size() != ends->size()) return visit.axis;  // the run will tell
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes && i < axes->size() ? (*axes)[i].value : static_cast<int64_t>(i);
    axis += axis < 0 ? rank : 0;
    if (axis != visit.axis) continue;
    if ((*starts)[i].value != 0) return Blocked(visit, "takes some pictures of the batch");
    if ((*ends)[i].follows || (*ends)[i].value > INT32_MAX - 1) return visit.axis;
    if ((*ends)[i].value < batch_ || !by_input)
      return Blocked(visit, "takes some pictures of the batch");
    BatchEdit edit;
    edit.input = 2;
    for (const auto& end : *ends) edit.integers.push_back(end.value);
    edit.integers[i] = kToTheEnd;
    Change(visit, fmt::format("ends at picture {} of the batch", (*ends)[i].value), edit);
  }
  return visit.axis;
}

int BatchTracer::Gather(const Visit& visit) {
  const int rank = Rank(visit.node.input(0));
  const int64_t along = AxisAttribute(visit.node, rank);
  const int indices_axis = AxisOf(visit.node.input(1));
  if (visit.from == 1) return static_cast<int>(along) + indices_axis;
  if (along == visit.axis) return Blocked(visit, "picks single pictures out of the batch");
  if (indices_axis != kNone)
    return Blocked(visit, "picks other elements for each picture in a way that mixes them");
  const int indices_rank = Rank(visit.node.input(1));
  return visit.axis < along ? visit.axis : visit.axis - 1 + std::max(0, indices_rank);
}

int BatchTracer::GatherAlong(const Visit& visit) {
  const int rank = Rank(visit.node.input(visit.from));
  const int64_t along = AxisAttribute(visit.node, rank);
  if (visit.node.op_type() != "GridSample" && along == visit.axis)
    return Blocked(visit, "picks elements across the pictures of a batch");
  return SameInAllInputs(visit);
}

int BatchTracer::GatherNd(const Visit& visit) {
  const bool gathers = visit.node.op_type() == "GatherND";
  const int data_axis = AxisOf(visit.node.input(0));
  const int indices_axis = AxisOf(visit.node.input(1));
  if (gathers && data_axis == kNone) return indices_axis;
  const int64_t batch_dims = gathers ? IntegerAttribute(visit.node, "batch_dims", 0) : 0;
  if (gathers && indices_axis != kNone)
    return data_axis < batch_dims || batch_dims == 0 ? indices_axis : data_axis;
  if (indices_axis == kNone)
    return Blocked(visit, fmt::format("has constant indices, made for {} picture{}", batch_,
                                      batch_ == 1 ? "" : "s"));
  if (data_axis == kNone) return Blocked(visit, "writes the pictures' values into a constant");
  return data_axis;
}

int BatchTracer::Expand(const Visit& visit) {
  if (visit.from != 0) return AxisFromShape(visit.node);
  const auto shape = values_.Find(visit.node.input(1));
  const int rank = Rank(visit.node.input(0));
  const Shape* out = OutputShape(visit);
  const int out_rank = out != nullptr ? static_cast<int>(out->size()) : rank;
  const int axis = out_rank - rank + visit.axis;
  if (!shape) return axis;
  const int at = axis - (out_rank - static_cast<int>(shape->size()));
  if (at < 0) return axis;
  const ShapeElement& element = (*shape)[static_cast<size_t>(at)];
  if (element.follows || element.value == 1) return axis;
  BatchEdit edit;
  edit.input = 1;
  for (const auto& part : *shape) edit.integers.push_back(part.value);
  edit.integers[static_cast<size_t>(at)] = 1;
  Change(visit, fmt::format("has a constant shape that holds batch {}", batch_), edit);
  return axis;
}

int BatchTracer::Tile(const Visit& visit) {
  if (visit.from != 0) return AxisFromShape(visit.node);
  const auto repeats = values_.Find(visit.node.input(1));
  const auto axis = static_cast<size_t>(visit.axis);
  if (repeats && axis < repeats->size() && (*repeats)[axis].value != 1)
    return Blocked(visit, "repeats the pictures of the batch");
  return visit.axis;
}

int BatchTracer::MatMul(const Visit& visit) {
  const int rank_a = Rank(visit.node.input(0));
  const int rank_b = Rank(visit.node.input(1));
  const int rank = std::max(rank_a, rank_b);
  int result = kNone;
  for (int i = 0; i < 2; ++i) {
    const int own_rank = i == 0 ? rank_a : rank_b;
    const int axis = AxisOf(visit.node.input(i));
    if (axis == kNone) continue;
    const int summed = i == 0 ? own_rank - 1 : std::max(0, own_rank - 2);
    if (axis == summed) return Blocked(visit, "sums over the pictures of a batch");
    const int place = rank - own_rank + axis;
    if (result != kNone && result != place)
      return Blocked(visit, "combines values whose batch is at different axes");
    result = place;
  }
  for (int i = 0; i < 2; ++i) {
    const Shape* shape = ShapeOf(visit.node.input(i));
    const int own_rank = i == 0 ? rank_a : rank_b;
    const int own = result - (rank - own_rank);
    if (AxisOf(visit.node.input(i)) != kNone || shape == nullptr || own < 0 || own >= own_rank - 2)
      continue;
    if ((*shape)[static_cast<size_t>(own)] != 1) NeedFirstCopy(visit, i, own);
  }
  return result;
}

int BatchTracer::Gemm(const Visit& visit) {
  const int64_t kept = IntegerAttribute(visit.node, "transA", 0) == 0 ? 0 : 1;
  if (visit.from == 0 && visit.axis == kept && AxisOf(visit.node.input(1)) == kNone) return 0;
  return Blocked(visit, "sums over the pictures of a batch");
}

int BatchTracer::Einsum(const Visit& visit) {
  const onnx::AttributeProto* attribute = FindAttribute(visit.node, "equation");
  std::string equation = attribute != nullptr ? attribute->s() : "";
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find("...") != std::string::npos)
    return SameAxis(visit);
  size_t start = 0;
  for (int i = 0; i < visit.from; ++i) start = equation.find(',', start) + 1;
  const size_t letter = start + static_cast<size_t>(visit.axis);
  const size_t place = letter < arrow ? equation.find(equation[letter], arrow) : std::string::npos;
  if (place == std::string::npos) return Blocked(visit, "sums over the pictures of a batch");
  return static_cast<int>(place - arrow - 2);
}

int BatchTracer::Reduce(const Visit& visit) {
  const int rank = Rank(visit.node.input(0));
  const bool arg = visit.node.op_type().starts_with("Arg");
  std::optional<std::vector<int64_t>> axes = Axes(visit.node, rank);
  if (arg) axes = {{IntegerAttribute(visit.node, "axis", 0)}};
  if (arg && (*axes)[0] < 0) (*axes)[0] += rank;
  if (!axes && IntegerAttribute(visit.node, "noop_with_empty_axes", 0) != 0) return visit.axis;
  if (!axes || Contains(*axes, visit.axis))
    return Blocked(visit, "takes its result over all pictures of a batch");
  if (IntegerAttribute(visit.node, "keepdims", 1) != 0) return visit.axis;
  return visit.axis - static_cast<int>(std::count_if(axes->begin(), axes->end(), [&](int64_t axis) {
           return axis < visit.axis;
         }));
}

int BatchTracer::AlongAxis(const Visit& visit, int64_t fallback_axis) {
  if (visit.from != 0) return SameAxis(visit);
  int64_t along = IntegerAttribute(visit.node, "axis", fallback_axis);
  if (visit.node.op_type() == "CumSum" && visit.node.input_size() > 1) {
    const auto axis = index_.Integers(visit.node.input(1));
    along = axis && axis->size() == 1 ? (*axis)[0] : 0;
  }
  along += along < 0 ? Rank(visit.node.input(0)) : 0;
  if (along != visit.axis) return visit.axis;
  return Blocked(visit, visit.node.op_type() == "Split" ? "cuts the batch into fixed parts"
                                                        : "works across the pictures of a batch");
}

int BatchTracer::Resize(const Visit& visit) {
  if (visit.from != 0 || visit.node.input_size() < 4 || visit.node.input(3).empty())
    return SameAxis(visit);
  const auto axes = IntegersAttribute(visit.node, "axes");
  const auto sizes = values_.Find(visit.node.input(3));
  if (!sizes || (axes && !Contains(*axes, visit.axis))) return visit.axis;
  const auto at = static_cast<size_t>(visit.axis);
  if (axes || at >= sizes->size() || (*sizes)[at].follows) return visit.axis;
  const Shape* in = ShapeOf(visit.node.input(0));
  const Shape* out = OutputShape(visit);
  if (in == nullptr || out == nullptr || in->size() != out->size())
    return Blocked(visit, "has a shape that could not be worked out");
  BatchEdit edit;
  edit.kind = BatchEdit::Kind::kScales;
  for (size_t i = 0; i < in->size(); ++i) {
    if ((*in)[i] <= 0 || (*out)[i] <= 0)
      return Blocked(visit, "holds the batch beside an axis that the picture decides");
    edit.scales.push_back(static_cast<float>((*out)[i]) / static_cast<float>((*in)[i]));
    const auto reached = static_cast<int64_t>(edit.scales[i] * static_cast<float>((*in)[i]));
    if (reached != (*out)[i])
      return Blocked(visit, "holds the batch in its sizes, and no scale gives them exactly");
  }
  Change(visit, fmt::format("has constant sizes that hold batch {}", batch_), edit);
  return visit.axis;
}

}  // namespace sg

#include "onnx/output_compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace sg {
namespace {

struct Pair {
  const OutputValues* reference;
  const OutputValues* candidate;
  double magnitude;  ///< largest finite |reference|
  int64_t rows;
  int64_t columns;
};

double Distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double distance = std::abs(a - b);
  return std::isnan(distance) ? HUGE_VAL : distance;
}

double Magnitude(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most > 0 ? most : 1;
}

/// Outputs of the same number of rows: row i of each is one detection.
class RowGroup {
 public:
  RowGroup(std::vector<Pair> pairs, double tolerance)
      : pairs_(std::move(pairs)), tolerance_(tolerance), rows_(pairs_.front().rows) {}

  void Compare(OutputDifference* difference) const {
    std::vector<int64_t> open;  // rows that are not equal where they are
    for (int64_t row = 0; row < rows_; ++row) {
      if (Equal(row, row))
        Note(row, row, difference);
      else
        open.push_back(row);
    }
    std::vector<int64_t> free = open;
    std::vector<int64_t> unmatched;
    for (const int64_t row : open) {
      const auto match =
          std::find_if(free.begin(), free.end(), [&](int64_t other) { return Equal(row, other); });
      if (match == free.end()) {
        unmatched.push_back(row);
        continue;
      }
      Note(row, *match, difference);
      ++difference->moved_rows;
      free.erase(match);
    }
    for (const int64_t row : unmatched) {
      difference->equal = false;
      Note(row, row, difference);
    }
  }

 private:
  bool Equal(int64_t row, int64_t other) const {
    for (const Pair& pair : pairs_) {
      const double limit = tolerance_ * pair.magnitude;
      const double* a = pair.reference->values.data() + row * pair.columns;
      const double* b = pair.candidate->values.data() + other * pair.columns;
      for (int64_t i = 0; i < pair.columns; ++i) {
        if (Distance(a[i], b[i]) > limit) return false;
      }
    }
    return true;
  }

  void Note(int64_t row, int64_t other, OutputDifference* difference) const {
    for (const Pair& pair : pairs_) {
      const double* a = pair.reference->values.data() + row * pair.columns;
      const double* b = pair.candidate->values.data() + other * pair.columns;
      for (int64_t i = 0; i < pair.columns; ++i) {
        const double distance = Distance(a[i], b[i]);
        if (distance / pair.magnitude <= difference->relative) continue;
        difference->relative = distance / pair.magnitude;
        difference->max_difference = distance;
        difference->output = pair.reference->name;
      }
    }
  }

  const std::vector<Pair> pairs_;
  const double tolerance_;
  const int64_t rows_;
};

OutputDifference Unequal(const std::string& output, const std::string& why) {
  OutputDifference difference;
  difference.equal = false;
  difference.output = output;
  difference.relative = HUGE_VAL;
  difference.max_difference = HUGE_VAL;
  difference.why = why;
  return difference;
}

int64_t Volume(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

std::vector<PictureOutputs> SplitByPicture(const std::vector<OutputValues>& outputs,
                                           int64_t batch) {
  std::vector<PictureOutputs> pictures(static_cast<size_t>(batch));
  for (const OutputValues& output : outputs) {
    const bool batched = !output.shape.empty() && output.shape.front() == batch;
    const bool single = !output.shape.empty() && output.shape.front() == 1;
    OutputValues part;
    part.name = output.name;
    part.whole = !batched && !single;
    part.shape.assign(output.shape.begin() + (batched || single ? 1 : 0), output.shape.end());
    const auto size = static_cast<ptrdiff_t>(output.values.size() / static_cast<size_t>(batch));
    for (size_t i = 0; i < pictures.size(); ++i) {
      const auto start = output.values.begin() + static_cast<ptrdiff_t>(i) * size;
      part.values = batched ? std::vector<double>(start, start + size) : output.values;
      pictures[i].push_back(part);
    }
  }
  return pictures;
}

OutputDifference CompareOutputs(const PictureOutputs& reference, const PictureOutputs& candidate,
                                double tolerance) {
  std::map<int64_t, std::vector<Pair>> groups;  // by number of rows
  std::vector<Pair> alone;
  for (const OutputValues& output : reference) {
    const auto other = std::find_if(candidate.begin(), candidate.end(),
                                    [&](const auto& c) { return c.name == output.name; });
    if (other == candidate.end()) return Unequal(output.name, "there is no such output");
    if (other->whole != output.whole)
      return Unequal(output.name,
                     "it has an axis for the pictures at one batch and none at another");
    if (other->shape != output.shape) {
      return Unequal(output.name,
                     fmt::format("its shape for one picture is [{}], not [{}]",
                                 fmt::join(other->shape, ","), fmt::join(output.shape, ",")));
    }
    const int64_t volume = Volume(output.shape);
    const bool rows = output.shape.size() == 1 || output.shape.size() == 2;
    Pair pair{&output, &*other, Magnitude(output.values), rows ? output.shape[0] : 1, 0};
    if (volume == 0) continue;
    pair.columns = volume / pair.rows;
    if (rows)
      groups[pair.rows].push_back(pair);
    else
      alone.push_back(pair);
  }
  OutputDifference difference;
  for (const auto& [rows, pairs] : groups) RowGroup(pairs, tolerance).Compare(&difference);
  for (const Pair& pair : alone) RowGroup({pair}, tolerance).Compare(&difference);
  return difference;
}

}  // namespace sg

#include "onnx/wire_walk.h"

#include <fmt/format.h>

#include <cstdint>

namespace sg {
namespace {

// Field numbers of onnx.proto and what the message in them is.
enum class Message { kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction };

std::optional<Message> Nested(Message outer, uint64_t field) {
  switch (outer) {
    case Message::kModel:
      if (field == 7) return Message::kGraph;
      if (field == 25) return Message::kFunction;
      break;
    case Message::kGraph:
      if (field == 1) return Message::kNode;
      if (field == 5) return Message::kTensor;
      if (field == 15) return Message::kSparseTensor;
      break;
    case Message::kFunction:
      if (field == 7) return Message::kNode;
      break;
    case Message::kNode:
      if (field == 5) return Message::kAttribute;
      break;
    case Message::kAttribute:
      if (field == 5 || field == 10) return Message::kTensor;
      if (field == 6 || field == 11) return Message::kGraph;
      if (field == 22 || field == 23) return Message::kSparseTensor;
      break;
    case Message::kSparseTensor:
      if (field == 1 || field == 2) return Message::kTensor;
      break;
    case Message::kTensor:
      break;
  }
  return std::nullopt;
}

constexpr uint64_t kRawData = 9;
constexpr uint64_t kDataLocation = 14;
constexpr uint64_t kExternalData = 13;
constexpr int kMaxDepth = 100;  // protobuf's

enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

void AppendVarint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendBytes(std::string* out, uint64_t field, std::string_view bytes) {
  AppendVarint(out, field << 3 | kLength);
  AppendVarint(out, bytes.size());
  out->append(bytes);
}

class Walk {
 public:
  Walk(std::string_view model, const std::string& marker) : model_(model), marker_(marker) {}

  /// Appends the message at [at, end) to `out`.
  bool Copy(Message message, size_t at, size_t end, std::string* out) {
    if (++depth_ > kMaxDepth) return false;
    while (at < end) {
      const size_t start = at;
      uint64_t tag = 0;
      if (!Varint(&at, end, &tag) || tag >> 3 == 0) return false;
      const uint64_t field = tag >> 3;
      if ((tag & 7) != kLength) {
        if (!SkipScalar(tag & 7, &at, end)) return false;
        out->append(model_.substr(start, at - start));
        continue;
      }
      uint64_t size = 0;
      if (!Varint(&at, end, &size) || size > end - at) return false;
      const size_t content = at;
      at += size;
      if (const auto nested = Nested(message, field)) {
        std::string inner;
        if (!Copy(*nested, content, at, &inner)) return false;
        AppendBytes(out, field, inner);
      } else if (message == Message::kTensor && field == kRawData && size >= kLargeWeightBytes) {
        AppendPlace(content, size, out);
      } else {
        out->append(model_.substr(start, at - start));
      }
    }
    --depth_;
    return true;
  }

 private:
  bool Varint(size_t* at, size_t end, uint64_t* value) const {
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
      const auto byte = static_cast<unsigned char>(model_[(*at)++]);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool SkipScalar(uint64_t wire, size_t* at, size_t end) const {
    uint64_t ignored = 0;
    if (wire == kVarint) return Varint(at, end, &ignored);
    const size_t size = wire == kFixed64 ? 8 : wire == kFixed32 ? 4 : 0;
    if (size == 0 || size > end - *at) return false;
    *at += size;
    return true;
  }

  void AppendPlace(size_t offset, size_t size, std::string* out) const {
    std::string entry;
    AppendBytes(&entry, 1, fmt::format("{}{}", marker_, offset));
    AppendBytes(&entry, 2, fmt::format("{}", size));
    AppendBytes(out, kExternalData, entry);
    AppendVarint(out, kDataLocation << 3 | kVarint);
    AppendVarint(out, 1);
  }

  const std::string_view model_;
  const std::string& marker_;
  int depth_ = 0;
};

}  // namespace

std::optional<std::string> WithoutWeights(std::string_view model, const std::string& marker) {
  std::string light;
  Walk walk(model, marker);
  if (!walk.Copy(Message::kModel, 0, model.size(), &light)) return std::nullopt;
  return light;
}

}  // namespace sg

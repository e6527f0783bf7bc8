// Walks a serialised ONNX model field by field (protobuf's wire format), so that large weights need
// not be parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sg {

/// Raw bytes of fewer than this stay in the message: shape constants and the like are read often.
inline constexpr size_t kLargeWeightBytes = 4096;

/// The model with each large weight replaced by where it is: the tensor's data_location is EXTERNAL
/// and its only external_data entry has the key `marker` + offset and the value length, both in
/// decimal bytes of `model`. nullopt when the bytes are not protobuf fields, or are nested deeper
/// than protobuf reads.
std::optional<std::string> WithoutWeights(std::string_view model, const std::string& marker);

}  // namespace sg

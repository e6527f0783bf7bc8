// libFuzzer target: any bytes are a header that is read or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hub/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = sg::ParseSafeTensorsHeader(bytes, size, "fuzz");
  if (!header.ok()) return 0;
  // What is accepted tiles the data exactly.
  uint64_t position = 0;
  for (const sg::SafeTensor& tensor : header->tensors) {
    if (tensor.begin != position || tensor.end < tensor.begin) __builtin_trap();
    position = tensor.end;
  }
  if (position != header->data_bytes) __builtin_trap();
  return 0;
}

// The header of a .safetensors file: what tensors are in it. Weights are not read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sg {

struct SafeTensor {
  std::string name;
  std::string dtype;  ///< "F32", "BF16", "I64", …
  std::vector<uint64_t> shape;
  uint64_t begin = 0;  ///< byte offsets within the data part
  uint64_t end = 0;
};

struct SafeTensorsHeader {
  std::vector<SafeTensor> tensors;              ///< by offset
  std::map<std::string, std::string> metadata;  ///< __metadata__
  uint64_t data_bytes = 0;
};

/// Parses the first bytes of a file of `file_bytes` bytes. `bytes` needs to hold the whole header
/// (8 + its length). kUser, with the reason, for: a length beyond the file or above 100 MB, no JSON
/// object, duplicate keys, unknown dtypes, shapes that do not give end − begin, offsets that
/// overlap, leave holes or pass the end, bytes after the last tensor.
Result<SafeTensorsHeader> ParseSafeTensorsHeader(std::string_view bytes, uint64_t file_bytes,
                                                 const std::string& where);

/// The same from a file.
Result<SafeTensorsHeader> ReadSafeTensorsHeader(const std::string& path);

/// Shards of `model.safetensors.index.json`: the files named in its weight_map, sorted; each must
/// be a plain file name. kUser otherwise.
Result<std::vector<std::string>> ReadSafeTensorsIndex(const std::string& path);

}  // namespace sg

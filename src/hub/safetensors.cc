// The format: 8 bytes little-endian header length, a JSON object of that length, then the tensors'
// bytes (huggingface/safetensors, README "Format" and safetensors/src/tensor.rs: the header is at
// most 100 MB, the offsets cover the data without holes).
#include "hub/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "hub/archive_names.h"

namespace sg {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100000000;
constexpr size_t kMaxRank = 64;
/// Each costs much more memory than its bytes in the header.
constexpr size_t kMaxMetadata = 10000;
constexpr uint64_t kMaxIndexBytes = uint64_t{100} << 20;

struct Dtype {
  const char* name;
  uint64_t bits;
};
constexpr Dtype kDtypes[] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6},     {"F6_E3M2", 6},    {"U8", 8},   {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8},     {"I16", 16},       {"U16", 16}, {"F16", 16},
    {"BF16", 16},   {"I32", 32},    {"U32", 32},        {"F32", 32},       {"C64", 64}, {"F64", 64},
    {"I64", 64},    {"U64", 64},    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};

/// Bits of one element; nullopt for a name that is no dtype.
std::optional<uint64_t> BitsOf(std::string_view name) {
  const auto* dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype& one) { return name == one.name; });
  return dtype == std::end(kDtypes) ? std::nullopt : std::make_optional(dtype->bits);
}

/// Walks the header's JSON without keeping it: {name: {dtype, shape, data_offsets}, __metadata__}.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  SafeTensorsHeader header;
  std::string fault;  ///< empty: none

  bool null() override {
    return (depth_ == 1 && in_metadata_) || Fail("holds a null");  // no metadata
  }
  bool boolean(bool) override { return Fail("holds a boolean"); }
  bool number_integer(number_integer_t) override { return Fail("holds a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return Fail("holds a number that is not whole");
  }
  bool binary(binary_t&) override { return Fail("holds binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) return Fail(fmt::format("has a number at '{}'", Where()));
    if (list_.size() == kMaxRank) return Fail(fmt::format("has a list too long at '{}'", Where()));
    list_.push_back(value);
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ != 2 || in_list_) return Fail(fmt::format("has a text at '{}'", Where()));
    if (in_metadata_) {
      header.metadata[key_] = value;
      return header.metadata.size() <= kMaxMetadata ||
             Fail(fmt::format("has more than {} metadata", kMaxMetadata));
    }
    if (key_ != "dtype") return Fail(fmt::format("has a text at '{}'", Where()));
    if (!BitsOf(value)) {
      return Fail(
          fmt::format("gives '{}' the unknown dtype '{}'", ShownName(name_), ShownName(value)));
    }
    tensor_.dtype = value;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 2 || in_list_) return Fail(fmt::format("is nested too deep at '{}'", Where()));
    if (++depth_ == 1) return true;
    keys_.clear();
    tensor_ = SafeTensor{};
    tensor_.name = name_;
    offsets_.reset();
    has_shape_ = false;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) {
      if (!names_.insert(value).second) {
        return Fail(fmt::format("has '{}' twice", ShownName(value)));
      }
      name_ = value;
      in_metadata_ = value == "__metadata__";
      return true;
    }
    if (!keys_.insert(value).second) {
      return Fail(fmt::format("has '{}' twice in '{}'", ShownName(value), ShownName(name_)));
    }
    key_ = value;
    if (!in_metadata_ && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      return Fail(
          fmt::format("has an unknown key '{}' in '{}'", ShownName(key_), ShownName(name_)));
    }
    return true;
  }
  bool end_object() override {
    if (--depth_ == 0 || in_metadata_) return true;
    if (tensor_.dtype.empty() || !has_shape_ || !offsets_) {
      return Fail(
          fmt::format("says too little of '{}' (dtype, shape, data_offsets)", ShownName(name_)));
    }
    std::tie(tensor_.begin, tensor_.end) = *offsets_;
    header.tensors.push_back(std::move(tensor_));
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || in_list_ || key_ == "dtype") {
      return Fail(fmt::format("has a list at '{}'", Where()));
    }
    in_list_ = true;
    list_.clear();
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    if (key_ == "shape") {
      tensor_.shape.assign(list_.begin(), list_.end());
      has_shape_ = true;
      return true;
    }
    if (list_.size() != 2) {
      return Fail(fmt::format("has data_offsets of '{}' that are no pair", ShownName(name_)));
    }
    offsets_ = {list_[0], list_[1]};
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    return Fail(fmt::format("is no JSON from byte {} on", position));
  }

 private:
  std::string Where() const {
    return depth_ < 2 ? ShownName(name_) : ShownName(name_) + "." + ShownName(key_);
  }
  bool Fail(std::string why) {
    if (fault.empty()) fault = std::move(why);
    return false;
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  bool in_list_ = false;
  bool has_shape_ = false;
  std::string name_, key_;
  std::set<std::string> names_, keys_;
  std::vector<uint64_t> list_;
  std::optional<std::pair<uint64_t, uint64_t>> offsets_;
  SafeTensor tensor_;
};

Error Wrong(const std::string& where, const std::string& why) {
  return UserError(fmt::format("{}: is no whole SafeTensors file: {}; fetch it again", where, why));
}

/// Bytes of the tensor by dtype and shape; nullopt for an overflow or half bytes.
std::optional<uint64_t> BytesOf(const SafeTensor& tensor) {
  uint64_t bits = BitsOf(tensor.dtype).value_or(0);
  for (const uint64_t size : tensor.shape) {
    if (__builtin_mul_overflow(bits, size, &bits)) return std::nullopt;
  }
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

Status CheckTensors(SafeTensorsHeader* header, const std::string& where) {
  std::sort(header->tensors.begin(), header->tensors.end(),
            [](const SafeTensor& a, const SafeTensor& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  uint64_t position = 0;
  for (const SafeTensor& tensor : header->tensors) {
    if (tensor.begin != position || tensor.end < tensor.begin) {
      return Wrong(where,
                   fmt::format("the bytes of '{}' ({} to {}) do not follow the last ones ({})",
                               ShownName(tensor.name), tensor.begin, tensor.end, position));
    }
    const std::optional<uint64_t> bytes = BytesOf(tensor);
    if (!bytes || *bytes != tensor.end - tensor.begin) {
      return Wrong(where,
                   fmt::format("'{}' is {} with a shape that does not give its {} bytes",
                               ShownName(tensor.name), tensor.dtype, tensor.end - tensor.begin));
    }
    position = tensor.end;
  }
  if (position != header->data_bytes) {
    return Wrong(where, fmt::format("its tensors have {} bytes, the file has {} for them", position,
                                    header->data_bytes));
  }
  return OkStatus();
}

Result<uint64_t> HeaderLength(std::string_view bytes, uint64_t file_bytes,
                              const std::string& where) {
  if (bytes.size() < kLengthBytes || file_bytes < kLengthBytes) {
    return Wrong(where, "it is shorter than 8 bytes");
  }
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  if (length > kMaxHeaderBytes) {
    return Wrong(where, fmt::format("its header claims {} bytes, at most {} are allowed", length,
                                    kMaxHeaderBytes));
  }
  if (length > file_bytes - kLengthBytes) {
    return Wrong(where, fmt::format("its header claims {} bytes, the file has {}", length,
                                    file_bytes - kLengthBytes));
  }
  return length;
}

}  // namespace

Result<SafeTensorsHeader> ParseSafeTensorsHeader(std::string_view bytes, uint64_t file_bytes,
                                                 const std::string& where) {
  SG_ASSIGN_OR_RETURN(const uint64_t length, HeaderLength(bytes, file_bytes, where));
  if (bytes.size() - kLengthBytes < length) return Wrong(where, "its header is cut off");
  const std::string_view text = bytes.substr(kLengthBytes, length);
  if (!text.starts_with('{')) return Wrong(where, "its header does not start with '{'");
  HeaderReader reader;
  const bool read = Json::sax_parse(text.begin(), text.end(), &reader);
  if (!read || !reader.fault.empty()) {
    return Wrong(where, "its header " + (reader.fault.empty() ? "is no JSON" : reader.fault));
  }
  reader.header.data_bytes = file_bytes - kLengthBytes - length;
  SG_RETURN_IF_ERROR(CheckTensors(&reader.header, where));
  return std::move(reader.header);
}

Result<SafeTensorsHeader> ReadSafeTensorsHeader(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const uint64_t file_bytes, FileSize(path));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return EnvironmentError(fmt::format("{}: cannot be read", path));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&fd,
                                                                [](const int* f) { close(*f); });
  std::string bytes(kLengthBytes, '\0');
  const auto read_at = [&](size_t from) {
    return pread(fd, bytes.data() + from, bytes.size() - from, static_cast<off_t>(from)) ==
           static_cast<ssize_t>(bytes.size() - from);
  };
  if (file_bytes < kLengthBytes || !read_at(0)) return Wrong(path, "it is shorter than 8 bytes");
  SG_ASSIGN_OR_RETURN(const uint64_t length, HeaderLength(bytes, file_bytes, path));
  bytes.resize(kLengthBytes + length);
  if (!read_at(kLengthBytes)) return EnvironmentError(fmt::format("{}: cannot be read", path));
  return ParseSafeTensorsHeader(bytes, file_bytes, path);
}

Result<std::vector<std::string>> ReadSafeTensorsIndex(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const uint64_t file_bytes, FileSize(path));
  if (file_bytes > kMaxIndexBytes) {
    return UserError(fmt::format("{}: {} bytes are too many for an index of shards; fetch it again",
                                 path, file_bytes));
  }
  SG_ASSIGN_OR_RETURN(const Json index, ReadJsonFile(path));
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object() || map->empty()) {
    return UserError(fmt::format("{}: has no weight_map", path));
  }
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    if (!name.ends_with(".safetensors") || !NameFault(name).empty() ||
        name.find('/') != std::string::npos) {
      return UserError(
          fmt::format("{}: '{}' lies in no file of this folder", path, ShownName(tensor)));
    }
    shards.insert(name);
  }
  return std::vector<std::string>(shards.begin(), shards.end());
}

}  // namespace sg

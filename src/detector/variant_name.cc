#include "detector/variant_name.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace sg {
namespace {

struct VariantWord {
  const char* word;
  const char* variant;
};
// A name with several ("model_int8_fp16") is the variant that stands first here.
constexpr VariantWord kVariantWords[] = {
    {"int4", "int4"},
    {"uint4", "int4"},
    {"q4", "int4"},
    {"q4f16", "int4"},
    {"bnb4", "int4"},
    {"nf4", "int4"},
    {"w4a16", "int4"},
    {"int2", "int2"},
    {"q2", "int2"},
    {"q2f16", "int2"},
    {"q1", "int1"},
    {"q1f16", "int1"},
    {"int8", "int8"},
    {"uint8", "int8"},
    {"qint8", "int8"},
    {"quint8", "int8"},
    {"q8", "int8"},
    {"i8", "int8"},
    {"u8", "int8"},
    {"w8a8", "int8"},
    {"fp8", "fp8"},
    {"float8", "fp8"},
    {"quantized", "quantized"},
    {"quantised", "quantized"},
    {"quant", "quantized"},
    {"qdq", "quantized"},
    {"bf16", "bf16"},
    {"bfloat16", "bf16"},
    {"fp16", "fp16"},
    {"float16", "fp16"},
    {"f16", "fp16"},
    {"half", "fp16"},
    {"o4", "fp16"},
    {"fp32", "fp32"},
    {"float32", "fp32"},
    {"f32", "fp32"},
};

// Words that change how a file was made and not which model it is.
constexpr const char* kAlterations[] = {"optimized", "optimised", "simplified", "sim", "simp",
                                        "slim",      "o1",        "o2",         "o3",  "avx2",
                                        "avx512",    "vnni",      "arm64"};

constexpr const char* kOnnx = "onnx";

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '_' || c == '-' || c == '.' || c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return words;
}

const VariantWord* FindWord(const std::string& word) {
  const auto* found = std::find_if(std::begin(kVariantWords), std::end(kVariantWords),
                                   [&](const VariantWord& known) { return word == known.word; });
  return found == std::end(kVariantWords) ? nullptr : found;
}

bool IsAlteration(const std::string& word) {
  return std::find(std::begin(kAlterations), std::end(kAlterations), word) !=
         std::end(kAlterations);
}

class Reader {
 public:
  /// The words of `text` that belong to the model, joined by '_'.
  std::string Take(std::string_view text) {
    std::string model;
    for (const std::string& word : Words(text)) {
      if (const VariantWord* known = FindWord(word)) {
        if (best_ == nullptr || known < best_) best_ = known;
      } else if (IsAlteration(word)) {
        name_.altered = true;
      } else {
        model += (model.empty() ? "" : "_") + word;
      }
    }
    return model;
  }

  VariantName Finish() {
    if (best_ != nullptr) {
      name_.variant = best_->variant;
      name_.word = best_->word;
      name_.order = static_cast<int>(best_ - std::begin(kVariantWords)) + 1;
    }
    return name_;
  }

  VariantName& name() { return name_; }

 private:
  VariantName name_;
  const VariantWord* best_ = nullptr;
};

/// "onnx", "fp16", "onnx_int8": a folder that says how, not which model.
bool IsVariantFolder(const std::string& folder) {
  for (const std::string& word : Words(folder)) {
    if (word != kOnnx && FindWord(word) == nullptr && !IsAlteration(word)) return false;
  }
  return true;
}

}  // namespace

VariantName ReadVariantName(const std::string& path) {
  Reader reader;
  size_t begin = 0;
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', begin)) {
    const std::string folder = path.substr(begin, end - begin);
    begin = end + 1;
    if (IsVariantFolder(folder)) {
      reader.Take(folder);
    } else {
      std::string& own = reader.name().folder;
      own += (own.empty() ? "" : "/") + folder;
    }
  }
  const std::string file = path.substr(begin);
  std::string model = reader.Take(file.substr(0, file.size() - std::string(".onnx").size()));
  if (model.empty()) model = "model";  // fp16.onnx, onnx/int8.onnx
  reader.name().model = reader.name().folder.empty() ? model : reader.name().folder + "/" + model;
  return reader.Finish();
}

std::string VariantOfWord(const std::string& word) {
  const VariantWord* known = FindWord(word);
  return known == nullptr ? "" : known->variant;
}

}  // namespace sg

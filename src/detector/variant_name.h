// What the name of an .onnx file says: which model it is, and which variant of it.
#pragma once

#include <string>

namespace sg {

struct VariantName {
  std::string model;     ///< the path without what names the variant: "model", "small/yolov8n"
  std::string folder;    ///< the part of the path that belongs to the model: "", "small"
  std::string variant;   ///< "fp16", "int8", …; "" where the name says none
  std::string word;      ///< as it stands there: "q4f16", "uint8", "half"
  int order = 0;         ///< among words of the same variant, the plain one first
  bool altered = false;  ///< "optimized", "simplified" and the like
};

/// `path` is relative to the model's root and ends in .onnx. Words count in the file's name and in
/// folders that are nothing else ("onnx", "fp16", "onnx_int8"). transformers.js' names
/// (model_fp16, _int8, _uint8, _quantized, _q4, _q4f16, _bnb4, _fp8 …) are among them.
VariantName ReadVariantName(const std::string& path);

/// The variant that a word stands for ("q4f16" → "int4"); empty when it is none.
std::string VariantOfWord(const std::string& word);

}  // namespace sg

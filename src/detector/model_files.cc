#include "detector/model_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/files.h"

namespace sg {
namespace {

// Best first (the order holds when no variant is asked for).
constexpr const char* kVariantOrder[] = {"fp16", "fp32", "int8", "int4", "quantized"};

struct Candidate {
  std::string path;
  std::string variant;
  size_t rank = 0;     ///< in kVariantOrder
  bool plain = false;  ///< named just model.onnx
};

size_t RankOf(const std::string& variant) {
  const auto* found = std::find(std::begin(kVariantOrder), std::end(kVariantOrder), variant);
  return static_cast<size_t>(found - std::begin(kVariantOrder));
}

Status Collect(const std::string& folder, std::vector<Candidate>* candidates) {
  if (!FolderExists(folder)) return OkStatus();
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (!name.ends_with(".onnx") || !FileExists(path)) continue;
    const std::string variant = VariantOfFileName(name);
    candidates->push_back({path, variant, RankOf(variant), name == "model.onnx"});
  }
  return OkStatus();
}

Result<ModelFiles> FilesOfFolder(const std::string& folder, const std::string& variant) {
  std::vector<Candidate> candidates;
  SG_RETURN_IF_ERROR(Collect(folder, &candidates));
  SG_RETURN_IF_ERROR(Collect(JoinPath(folder, "onnx"), &candidates));
  if (candidates.empty()) {
    return UserError(fmt::format(
        "{}: has no model: looked for model.onnx, onnx/model.onnx and other .onnx files there; "
        "export the model to ONNX, or name the right folder",
        folder));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::tuple(a.rank, !a.plain) < std::tuple(b.rank, !b.plain);
                   });
  ModelFiles files;
  files.config_folder = folder;
  for (const Candidate& candidate : candidates) {
    if (files.variants.empty() || files.variants.back() != candidate.variant) {
      files.variants.push_back(candidate.variant);
    }
  }
  const auto selected = std::find_if(
      candidates.begin(), candidates.end(),
      [&](const Candidate& candidate) { return variant.empty() || candidate.variant == variant; });
  if (selected == candidates.end()) {
    return UserError(fmt::format("{}: has no variant {}; available: [{}]", folder, variant,
                                 fmt::join(files.variants, ", ")));
  }
  files.onnx = selected->path;
  files.variant = selected->variant;
  return files;
}

ModelFiles FilesOfOnnx(const std::string& onnx) {
  ModelFiles files;
  files.onnx = onnx;
  files.variant = VariantOfFileName(BaseName(onnx));
  files.variants = {files.variant};
  const std::string folder = ParentFolder(AbsolutePath(onnx));
  const std::string above = ParentFolder(folder);
  files.config_folder = folder;
  if (!FileExists(JoinPath(folder, "config.json")) && FileExists(JoinPath(above, "config.json"))) {
    files.config_folder = above;
  }
  return files;
}

}  // namespace

std::string VariantOfFileName(const std::string& file_name) {
  std::string word;
  for (const char c : file_name + ".") {
    if (c != '_' && c != '-' && c != '.') {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    if (word == "fp16" || word == "half" || word == "float16") return "fp16";
    if (word == "int8" || word == "uint8") return "int8";
    if (word == "int4" || word == "q4" || word == "q4f16" || word == "bnb4") return "int4";
    if (word == "quantized" || word == "quant") return "quantized";
    word.clear();
  }
  return "fp32";
}

Result<ModelFiles> FindModelFiles(const std::string& source, const std::string& variant) {
  ModelFiles files;
  if (FolderExists(source)) {
    SG_ASSIGN_OR_RETURN(files, FilesOfFolder(source, variant));
  } else if (!FileExists(source)) {
    return UserError(fmt::format("{}: no such file or folder", source));
  } else if (source.ends_with(".engine") || source.ends_with(".plan")) {
    return UserError(fmt::format(
        "{}: is a TensorRT engine, which runs on the machine that built it alone; give its ONNX",
        source));
  } else if (!source.ends_with(".onnx")) {
    return UserError(fmt::format("{}: is not an .onnx file or a model's folder", source));
  } else {
    files = FilesOfOnnx(source);
  }
  files.source = source;
  files.selection_line =
      fmt::format("Selected: {} ({}). All available: [{}]", files.variant,
                  variant.empty() ? "default" : "asked for", fmt::join(files.variants, ", "));
  return files;
}

}  // namespace sg

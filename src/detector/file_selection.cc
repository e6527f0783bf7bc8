#include "detector/file_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/files.h"

namespace sg {
namespace {

// Best first (the order holds when no variant is asked for).
constexpr const char* kVariantOrder[] = {"fp16", "fp32", "int8", "int4", "quantized"};

/// A config is never larger.
constexpr uint64_t kMaxConfigBytes = uint64_t{4} << 20;

constexpr const char* kConfigNames[] = {"config.json",
                                        "preprocessor_config.json",
                                        "processor_config.json",
                                        "infer_cfg.yml",
                                        "infer_cfg.yaml",
                                        "inference.yml",
                                        "inference.yaml",
                                        "preprocess.yaml",
                                        "preprocess.yml",
                                        "pipeline.json",
                                        "README.md",
                                        "labels.txt",
                                        "classes.txt",
                                        "model.safetensors.index.json"};

struct Candidate {
  const ListedFile* file = nullptr;
  std::string variant;
  std::string model;   ///< the name without variant words: files of one model share it
  size_t rank = 0;     ///< in kVariantOrder
  bool plain = false;  ///< named just model.onnx
};

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string VariantOfWord(const std::string& word) {
  if (word == "fp16" || word == "half" || word == "float16") return "fp16";
  if (word == "fp32" || word == "float32" || word == "full") return "fp32";
  if (word == "int8" || word == "uint8") return "int8";
  if (word == "int4" || word == "q4" || word == "q4f16" || word == "bnb4") return "int4";
  if (word == "quantized" || word == "quant") return "quantized";
  return "";
}

/// The name's variant, and the name without the words that say it.
std::pair<std::string, std::string> SplitName(const std::string& file_name) {
  std::string stem = file_name;
  if (stem.ends_with(".onnx")) stem.resize(stem.size() - 5);
  std::string variant, model, word;
  for (const char c : Lower(stem) + ".") {
    if (c != '_' && c != '-' && c != '.') {
      word += c;
      continue;
    }
    const std::string said = VariantOfWord(word);
    if (said.empty()) {
      model += word + "_";
    } else if (variant.empty()) {
      variant = said;
    }
    word.clear();
  }
  return {variant.empty() ? "fp32" : variant, model};
}

std::string SizeText(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

Candidate MakeCandidate(const ListedFile& file) {
  const std::string name = BaseName(file.path);
  Candidate candidate;
  candidate.file = &file;
  std::tie(candidate.variant, candidate.model) = SplitName(name);
  const auto* found =
      std::find(std::begin(kVariantOrder), std::end(kVariantOrder), candidate.variant);
  candidate.rank = static_cast<size_t>(found - std::begin(kVariantOrder));
  candidate.plain = name == "model.onnx";
  return candidate;
}

/// ONNX files where they are commonly kept; those of other folders only when there are none.
std::vector<Candidate> FindCandidates(const std::vector<ListedFile>& files) {
  std::vector<Candidate> usual, others;
  for (const ListedFile& file : files) {
    if (!file.path.ends_with(".onnx")) continue;
    const std::string folder = ParentFolder(file.path);
    (folder == "." || folder == "onnx" ? usual : others).push_back(MakeCandidate(file));
  }
  std::vector<Candidate> candidates = usual.empty() ? others : usual;
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::tuple(a.rank, !a.plain, a.file->path) <
                            std::tuple(b.rank, !b.plain, b.file->path);
                   });
  return candidates;
}

std::string ListText(const std::vector<Candidate>& candidates) {
  std::vector<std::string> paths;
  paths.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    paths.push_back(
        fmt::format("{} ({})", candidate.file->path, SizeText(candidate.file->size_bytes)));
  }
  return fmt::format("{}", fmt::join(paths, ", "));
}

/// The one model among the candidates: named model.onnx, or the only one there is.
Result<std::vector<Candidate>> OfOneModel(const std::vector<Candidate>& candidates,
                                          const std::string& where) {
  std::set<std::string> models;
  for (const Candidate& candidate : candidates) models.insert(candidate.model);
  if (models.size() == 1) return candidates;
  std::vector<Candidate> of_model;
  for (const Candidate& candidate : candidates) {
    if (candidate.model == "model_") of_model.push_back(candidate);
  }
  if (!of_model.empty()) return of_model;
  return UserError(fmt::format("{}: holds several models, name one with --variant FILE: {}", where,
                               ListText(candidates)));
}

bool IsNamed(const Candidate& candidate, const std::string& name) {
  return candidate.file->path == name || BaseName(candidate.file->path) == name ||
         BaseName(candidate.file->path) == name + ".onnx";
}

Result<Candidate> Choose(const std::vector<ListedFile>& files,
                         const std::vector<Candidate>& candidates, const SelectionWish& wish) {
  if (!wish.file.empty()) {
    for (const ListedFile& file : files) {
      if (file.path == wish.file) return MakeCandidate(file);
    }
    return UserError(fmt::format("{}: has no file {}", wish.where, wish.file));
  }
  if (wish.variant.empty()) {
    SG_ASSIGN_OR_RETURN(const std::vector<Candidate> of_model, OfOneModel(candidates, wish.where));
    return of_model.front();
  }
  for (const Candidate& candidate : candidates) {
    if (IsNamed(candidate, wish.variant)) return candidate;
  }
  std::vector<Candidate> of_variant;
  for (const Candidate& candidate : candidates) {
    if (candidate.variant == wish.variant) of_variant.push_back(candidate);
  }
  if (of_variant.empty()) {
    return UserError(fmt::format("{}: has no variant {}; there are: {}", wish.where, wish.variant,
                                 ListText(candidates)));
  }
  SG_ASSIGN_OR_RETURN(const std::vector<Candidate> one, OfOneModel(of_variant, wish.where));
  return one.front();
}

/// model.onnx_data, model.onnx_data_1, model.onnx.data: how exporters name weights beside a graph.
std::vector<std::string> ExternalOf(const std::vector<ListedFile>& files, const std::string& onnx) {
  std::vector<std::string> external;
  for (const ListedFile& file : files) {
    if (file.path.starts_with(onnx + "_data") || file.path.starts_with(onnx + ".data")) {
      external.push_back(file.path);
    }
  }
  return external;
}

/// As TAO's models bring them: nvinfer_config.txt, nvdsinfer_config.yaml,
/// pgie_peoplenet_config.yml.
bool IsNvinferConfig(const std::string& file_name) {
  const std::string name = Lower(file_name);
  const bool is_text = name.ends_with(".txt") || name.ends_with(".yml") || name.ends_with(".yaml");
  return is_text && (name.find("infer") != std::string::npos || name.starts_with("pgie"));
}

std::vector<std::string> SafeTensorsOf(const std::vector<ListedFile>& files) {
  std::vector<std::string> whole, shards;
  for (const ListedFile& file : files) {
    if (file.path == "model.safetensors") whole.push_back(file.path);
    const bool is_shard = file.path.starts_with("model-") && file.path.ends_with(".safetensors");
    if (is_shard || file.path == "model.safetensors.index.json") shards.push_back(file.path);
  }
  return whole.empty() ? shards : whole;
}

std::string Reason(const Candidate& chosen, const SelectionWish& wish) {
  if (!wish.file.empty()) return "the source names " + BaseName(wish.file);
  if (!wish.variant.empty()) return "asked for";
  return chosen.variant == "fp16" ? "default" : "fp16 unavailable";
}

}  // namespace

std::string VariantOfFileName(const std::string& file_name) { return SplitName(file_name).first; }

Result<FileSelection> SelectFiles(const std::vector<ListedFile>& files, const SelectionWish& wish) {
  FileSelection selection;
  const std::vector<Candidate> candidates = FindCandidates(files);
  if (candidates.empty() && wish.file.empty()) {
    selection.weights = SafeTensorsOf(files);
    if (!selection.weights.empty()) return selection;
    return UserError(fmt::format(
        "{}: has no model: looked for model.onnx, onnx/model.onnx, other .onnx files and "
        "model.safetensors; export the model to ONNX, or name the right place",
        wish.where));
  }
  SG_ASSIGN_OR_RETURN(const Candidate chosen, Choose(files, candidates, wish));
  selection.onnx = chosen.file->path;
  selection.variant = chosen.variant;
  selection.external = ExternalOf(files, chosen.file->path);
  std::vector<std::string> available;
  for (const Candidate& candidate : candidates) {
    if (candidate.model != chosen.model) continue;
    if (!selection.variants.empty() && selection.variants.back() == candidate.variant) continue;
    selection.variants.push_back(candidate.variant);
    available.push_back(candidate.variant + " " + SizeText(candidate.file->size_bytes));
  }
  selection.selection_line = fmt::format("Selected: {} ({}). All available: [{}]", chosen.variant,
                                         Reason(chosen, wish), fmt::join(available, ", "));
  return selection;
}

std::vector<std::string> SelectConfigs(const std::vector<ListedFile>& files) {
  std::vector<std::string> configs;
  for (const ListedFile& file : files) {
    if (file.size_bytes > kMaxConfigBytes) continue;
    const std::string folder = ParentFolder(file.path);
    if (folder != "." && folder != "onnx") continue;
    const std::string name = BaseName(file.path);
    const bool known =
        std::find(std::begin(kConfigNames), std::end(kConfigNames), name) != std::end(kConfigNames);
    if (known || name.ends_with(".names") || IsNvinferConfig(name)) configs.push_back(file.path);
  }
  return configs;
}

}  // namespace sg

#include "detector/file_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "base/files.h"
#include "detector/label_file.h"
#include "detector/variant_name.h"

namespace sg {
namespace {

// Best first (the order holds when no variant is asked for); others follow by name.
constexpr const char* kVariantOrder[] = {"fp16", "fp32", "int8", "int4", "quantized"};

/// The model that transformers' and transformers.js' own naming loads: model.onnx and its variants.
constexpr char kConventionalModel[] = "model";

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
                                        "model.safetensors.index.json"};

constexpr size_t kListedAtMost = 16;

struct Candidate {
  std::string path;
  VariantName name;
  std::string model;                       ///< files of one model share it
  std::string variant;                     ///< by the contents where known
  const OnnxContents* contents = nullptr;  ///< null: it was not looked into
  uint64_t size_bytes = 0;                 ///< with its external data

  bool IsForeign() const { return contents != nullptr && !contents->foreign_operators.empty(); }
  /// What it is known to hold; empty: not known.
  std::string Real() const { return contents == nullptr ? "" : contents->variant; }
};
using Candidates = std::vector<Candidate>;

/// Whether a file that is called `named` may hold `real`.
bool NameFits(const std::string& named, const std::string& real) {
  if (named == real || named.empty() || real.empty()) return true;
  return named == "quantized" && (real.starts_with("int") || real == "fp8");
}

std::string SizeText(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string LowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// model.onnx_data, model.onnx_data_1, model.onnx.data: how exporters name weights beside a graph.
bool IsExternalDataOf(const std::string& path, const std::string& onnx) {
  return path.starts_with(onnx + "_data") || path.starts_with(onnx + ".data");
}

bool IsHidden(const std::string& path) { return ("/" + path).find("/.") != std::string::npos; }

Candidate Describe(const ListedFile& file, const std::vector<ListedFile>& files,
                   const SelectionWish& wish) {
  Candidate candidate;
  candidate.path = file.path;
  candidate.name = ReadVariantName(file.path);
  candidate.model = candidate.name.model;
  candidate.size_bytes = file.size_bytes;
  for (const ListedFile& other : files) {
    if (IsExternalDataOf(other.path, file.path)) candidate.size_bytes += other.size_bytes;
  }
  const auto found = wish.contents.find(file.path);
  if (found != wish.contents.end()) candidate.contents = &found->second;
  candidate.variant = candidate.name.variant;
  const std::string real = candidate.Real();
  if (candidate.variant.empty() || !NameFits(candidate.variant, real)) {
    candidate.variant = real.empty() ? "fp32" : real;
  }
  return candidate;
}

/// "model" of "model_1" and "model_(1)": what a second file of the same name is saved as.
std::string WithoutNumber(const std::string& model) {
  const size_t at = model.rfind('_');
  if (at == std::string::npos || at == 0) return model;
  std::string number = model.substr(at + 1);
  if (number.starts_with('(') && number.ends_with(')'))
    number = number.substr(1, number.size() - 2);
  const bool digits = !number.empty() && number.size() <= 2 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  return digits ? model.substr(0, at) : model;
}

bool IsSameNetwork(const OnnxContents& a, const OnnxContents& b) {
  if (a.signature != b.signature) return false;
  if (a.variant == "int4" || b.variant == "int4") return true;  // blocks hide the number
  const auto [fewer, more] = std::minmax(a.parameters, b.parameters);
  return static_cast<double>(fewer) >= 0.9 * static_cast<double>(more);
}

/// The variant that the size allows beside a file of the same model that is known; empty: none.
std::string VariantBySize(const Candidate& candidate, const Candidate& known) {
  constexpr std::pair<const char*, double> kBits[] = {{"fp32", 32}, {"fp16", 16}, {"int8", 8}};
  for (const auto& [of_known, known_bits] : kBits) {
    if (known.Real() != of_known || known.size_bytes == 0) continue;
    const double bits = known_bits * static_cast<double>(candidate.size_bytes) /
                        static_cast<double>(known.size_bytes);
    for (const auto& [variant, its_bits] : kBits) {
      if (std::abs(bits - its_bits) <= its_bits / 4) return variant;
    }
  }
  return "";
}

/// Files whose names say nothing: model.onnx beside model_1.onnx. They are variants of one model
/// when they hold the same network in other types, or may do so by their size.
void JoinUnnamed(Candidates* all) {
  for (Candidate& candidate : *all) {
    if (!candidate.name.variant.empty()) continue;
    for (Candidate& other : *all) {
      if (&other == &candidate || other.contents == nullptr ||
          WithoutNumber(other.name.model) != WithoutNumber(candidate.name.model)) {
        continue;
      }
      std::string variant = candidate.variant;
      if (candidate.contents == nullptr) {
        variant = VariantBySize(candidate, other);
      } else if (!IsSameNetwork(*candidate.contents, *other.contents)) {
        continue;
      }
      if (variant.empty() || variant == other.variant) continue;
      candidate.variant = variant;
      const std::string model = std::min(candidate.model, other.model);  // without a number
      candidate.model = other.model = model;
    }
  }
}

auto SortKey(const Candidate& candidate, bool usable_first) {
  const auto* rank =
      std::find(std::begin(kVariantOrder), std::end(kVariantOrder), candidate.variant);
  return std::tuple(usable_first && candidate.IsForeign(), rank, candidate.variant,
                    candidate.contents == nullptr, candidate.name.altered, candidate.name.order,
                    std::count(candidate.path.begin(), candidate.path.end(), '/'), candidate.path);
}

/// ONNX files where they are commonly kept; those of other folders only when there are none. The
/// one that the source names is always among them.
Candidates FindCandidates(const std::vector<ListedFile>& files, const SelectionWish& wish) {
  Candidates usual, others;
  for (const ListedFile& file : files) {
    const bool named = file.path == wish.file;
    if (!file.path.ends_with(".onnx") || (IsHidden(file.path) && !named)) continue;
    Candidate candidate = Describe(file, files, wish);
    (candidate.name.folder.empty() || named ? usual : others).push_back(std::move(candidate));
  }
  Candidates candidates = usual.empty() ? std::move(others) : std::move(usual);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.path < b.path; });
  JoinUnnamed(&candidates);
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return SortKey(a, true) < SortKey(b, true); });
  return candidates;
}

std::string ListText(const Candidates& candidates) {
  std::vector<std::string> items;
  for (const Candidate& candidate : candidates) {
    if (items.size() == kListedAtMost) {
      items.push_back(fmt::format("{} more", candidates.size() - kListedAtMost));
      break;
    }
    const std::string real = candidate.Real();
    items.push_back(fmt::format("{} ({}{})", candidate.path, real.empty() ? "" : real + ", ",
                                SizeText(candidate.size_bytes)));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

std::set<std::string> ModelsOf(const Candidates& candidates) {
  std::set<std::string> models;
  for (const Candidate& candidate : candidates) models.insert(candidate.model);
  return models;
}

Candidates OfModel(const Candidates& candidates, const std::string& model) {
  Candidates own;
  for (const Candidate& candidate : candidates) {
    if (candidate.model == model) own.push_back(candidate);
  }
  return own;
}

/// The one model among the candidates: named model.onnx, or the only one there is.
Result<Candidates> OfOneModel(const Candidates& candidates, const std::string& where) {
  const std::set<std::string> models = ModelsOf(candidates);
  if (models.size() == 1) return candidates;
  if (models.contains(kConventionalModel)) return OfModel(candidates, kConventionalModel);
  return UserError(fmt::format("{}: holds several models, name one with --variant FILE: {}", where,
                               ListText(candidates)));
}

bool IsNamed(const Candidate& candidate, const std::string& name) {
  return candidate.path == name || BaseName(candidate.path) == name ||
         BaseName(candidate.path) == name + ".onnx";
}

/// How well a candidate is the variant `word`: 0 best, nullopt not at all. A file that was not
/// looked into may be what it is called, or what "quantized" leaves open; one that was looked into
/// and is something else comes last.
std::optional<int> FitOf(const Candidate& candidate, const std::string& word) {
  const std::string meant = VariantOfWord(word);
  const bool has_word = candidate.name.word == word;
  const bool generic = word == meant;  // "int8" is meant by "uint8" too, not the other way round
  if (meant.empty()) return std::nullopt;
  if (const std::string real = candidate.Real(); !real.empty()) {
    if (has_word && NameFits(meant, real)) return 0;
    if (generic && NameFits(meant, real)) return 2;
    if (has_word) return 5;
    return generic && candidate.name.variant == meant ? std::optional(6) : std::nullopt;
  }
  if (has_word) return 1;
  if (generic && candidate.variant == meant) return 3;
  const bool open = candidate.name.variant == "quantized" && NameFits("quantized", meant);
  return generic && open ? std::optional(4) : std::nullopt;
}

Result<Candidate> ChooseAsked(const Candidates& candidates, const SelectionWish& wish) {
  for (const Candidate& candidate : candidates) {
    if (IsNamed(candidate, wish.variant)) return candidate;
  }
  Candidates best;
  for (const std::string& model : ModelsOf(candidates)) {
    const Candidate* found = nullptr;
    std::optional<int> found_fit;
    const Candidates own = OfModel(candidates, model);
    for (const Candidate& candidate : own) {
      const std::optional<int> fit = FitOf(candidate, LowerCase(wish.variant));
      if (!fit || (found_fit && *found_fit <= *fit)) continue;
      found = &candidate;
      found_fit = fit;
    }
    if (found != nullptr) best.push_back(*found);
  }
  if (best.empty()) {
    return UserError(fmt::format("{}: has no variant {}; there are: {}", wish.where, wish.variant,
                                 ListText(candidates)));
  }
  SG_ASSIGN_OR_RETURN(const Candidates one, OfOneModel(best, wish.where));
  return one.front();
}

Result<Candidate> Choose(Candidates candidates, const SelectionWish& wish) {
  if (wish.known_only) {
    std::erase_if(candidates, [](const Candidate& c) { return c.contents == nullptr; });
  }
  if (!wish.file.empty()) {
    for (const Candidate& candidate : candidates) {
      if (candidate.path == wish.file) return candidate;
    }
    return UserError(fmt::format("{}: has no file {} that is an .onnx", wish.where, wish.file));
  }
  if (!wish.variant.empty()) return ChooseAsked(candidates, wish);
  SG_ASSIGN_OR_RETURN(const Candidates of_model, OfOneModel(candidates, wish.where));
  return of_model.front();
}

std::string Reason(const Candidate& chosen, const Candidates& of_model, const SelectionWish& wish) {
  if (!wish.file.empty()) return "the source names " + BaseName(wish.file);
  if (!wish.variant.empty()) {
    const std::string meant = VariantOfWord(LowerCase(wish.variant));
    const bool is_it = IsNamed(chosen, wish.variant) || NameFits(meant, chosen.Real());
    return is_it ? "asked for" : "by its name " + wish.variant;
  }
  const auto first = std::min_element(
      of_model.begin(), of_model.end(),
      [](const auto& a, const auto& b) { return SortKey(a, false) < SortKey(b, false); });
  if (first->path != chosen.path) {
    return first->variant + (first->contents == nullptr ? " not looked into" : " not usable");
  }
  return chosen.variant == kVariantOrder[0] ? "default" : "fp16 unavailable";
}

std::vector<std::string> NotesOf(const Candidates& candidates, const Candidate& chosen) {
  std::vector<std::string> notes;
  Candidates others;
  for (const Candidate& candidate : candidates) {
    if (candidate.model != chosen.model) {
      others.push_back(candidate);
      continue;
    }
    const std::string file = BaseName(candidate.path);
    if (!NameFits(candidate.name.variant, candidate.Real())) {
      notes.push_back(fmt::format("{} is named {} and holds {}.", file, candidate.name.word,
                                  candidate.contents->weights));
    } else if (candidate.name.variant.empty() && !NameFits("fp32", candidate.Real())) {
      notes.push_back(fmt::format("{} holds {}.", file, candidate.contents->weights));
    }
    if (candidate.IsForeign() && SortKey(candidate, false) < SortKey(chosen, false)) {
      notes.push_back(
          fmt::format("{} was passed over: it uses operators outside the ONNX standard: {}.", file,
                      fmt::join(candidate.contents->foreign_operators, ", ")));
    }
  }
  if (!others.empty()) {
    notes.push_back(
        fmt::format("Other models of this source were not taken: {}.", ListText(others)));
  }
  return notes;
}

/// model.safetensors, its shards with their index, the one that the source names, or the only one.
Result<FileSelection> SelectSafeTensors(const std::vector<ListedFile>& files,
                                        const SelectionWish& wish) {
  std::vector<std::string> whole, shards, all;
  for (const ListedFile& file : files) {
    const bool is_named =
        wish.file.empty() ? file.path == "model.safetensors" : file.path == wish.file;
    if (is_named) whole = {file.path};
    const bool is_shard = file.path.starts_with("model-") && file.path.ends_with(".safetensors");
    if (is_shard || file.path == "model.safetensors.index.json") shards.push_back(file.path);
    if (file.path.ends_with(".safetensors")) all.push_back(file.path);
  }
  FileSelection selection;
  selection.weights = !whole.empty() ? whole : !shards.empty() ? shards : all;
  if (selection.weights.empty()) {
    return UserError(fmt::format(
        "{}: has no model: looked for model.onnx, onnx/model.onnx, other .onnx files and "
        "model.safetensors; export the model to ONNX, or name the right place",
        wish.where));
  }
  if (whole.empty() && shards.empty() && all.size() > 1) {
    return UserError(fmt::format("{}: has several SafeTensors files and no ONNX, name one: {}",
                                 wish.where, fmt::join(all, ", ")));
  }
  if (wish.variant.empty()) return selection;
  return UserError(fmt::format("{}: has no variant {}: there is no ONNX, only {}", wish.where,
                               wish.variant, fmt::join(selection.weights, ", ")));
}

/// As TAO's models bring them: nvinfer_config.txt, nvdsinfer_config.yaml,
/// pgie_peoplenet_config.yml.
bool IsNvinferConfig(const std::string& file_name) {
  const std::string name = LowerCase(file_name);
  const bool is_text = name.ends_with(".txt") || name.ends_with(".yml") || name.ends_with(".yaml");
  return is_text && (name.find("infer") != std::string::npos || name.starts_with("pgie"));
}

}  // namespace

std::vector<std::string> OnnxCandidates(const std::vector<ListedFile>& files,
                                        const SelectionWish& wish) {
  std::vector<std::string> paths;
  for (const Candidate& candidate : FindCandidates(files, wish)) paths.push_back(candidate.path);
  return paths;
}

Result<FileSelection> SelectFiles(const std::vector<ListedFile>& files, const SelectionWish& wish) {
  const Candidates candidates = FindCandidates(files, wish);
  if (wish.file.ends_with(".safetensors") || (candidates.empty() && wish.file.empty())) {
    return SelectSafeTensors(files, wish);
  }
  SG_ASSIGN_OR_RETURN(const Candidate chosen, Choose(candidates, wish));
  FileSelection selection;
  selection.onnx = chosen.path;
  selection.variant = chosen.variant;
  for (const ListedFile& file : files) {
    if (IsExternalDataOf(file.path, chosen.path)) selection.external.push_back(file.path);
  }
  const Candidates of_model = OfModel(candidates, chosen.model);
  std::vector<std::string> available;
  for (const Candidate& candidate : of_model) {
    const auto& variants = selection.variants;
    if (std::find(variants.begin(), variants.end(), candidate.variant) != variants.end()) continue;
    selection.variants.push_back(candidate.variant);
    available.push_back(candidate.variant + " " + SizeText(candidate.size_bytes));
  }
  selection.selection_line =
      fmt::format("Selected: {} ({}). All available: [{}]", chosen.variant,
                  Reason(chosen, of_model, wish), fmt::join(available, ", "));
  selection.notes = NotesOf(candidates, chosen);
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
    if (known || IsLabelListName(name) || IsDataYamlName(name) || IsNvinferConfig(name)) {
      configs.push_back(file.path);
    }
  }
  return configs;
}

}  // namespace sg

#include "detector/card_evidence.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <string_view>
#include <vector>

namespace sg {
namespace {

/// Splits off the YAML between two "---" lines at the start.
std::string_view TakeFrontMatter(std::string_view* text) {
  if (!text->starts_with("---")) return {};
  const size_t end = text->find("\n---", 3);
  if (end == std::string_view::npos) return {};
  const std::string_view matter = text->substr(3, end - 3);
  text->remove_prefix(end + 4);
  return matter;
}

/// The first of `keys` that has a text, or a list that begins with one.
std::string FirstText(const YAML::Node& root, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const YAML::Node value = root[key];
    if (value && value.IsScalar()) return value.Scalar();
    if (value && value.IsSequence() && value.size() > 0 && value[0].IsScalar()) {
      return value[0].Scalar();
    }
  }
  return "";
}

void ReadFrontMatter(std::string_view text, CardEvidence* evidence) {
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap()) return;
    evidence->licence = FirstText(root, {"license_name", "license"});
    evidence->pipeline_tag = FirstText(root, {"pipeline_tag"});
  } catch (const YAML::Exception&) {
    // A card with damaged front matter is a card without one.
  }
}

/// The text without ``` blocks and `code`.
std::string Prose(std::string_view text) {
  std::string prose;
  bool in_code = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') {
      while (i + 1 < text.size() && text[i + 1] == '`') ++i;
      in_code = !in_code;
      prose += in_code ? '.' : ' ';
      continue;
    }
    if (!in_code) prose += text[i];
  }
  return prose;
}

/// A word in lower case, a number, or one of ">" ">=" "=" ":" and "." for a sentence's end.
using Words = std::vector<std::string>;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Words SplitIntoWords(std::string_view text) {
  constexpr std::string_view kGreaterEqual = "≥";
  Words words;
  for (size_t i = 0; i < text.size();) {
    const size_t start = i;
    if (IsLetter(text[i])) {
      std::string word;
      for (; i < text.size() && (IsLetter(text[i]) || IsDigit(text[i])); ++i) {
        word += text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
      }
      words.push_back(word);
    } else if (IsDigit(text[i])) {
      while (i < text.size() && (IsDigit(text[i]) ||
                                 (text[i] == '.' && i + 1 < text.size() && IsDigit(text[i + 1])))) {
        ++i;
      }
      words.emplace_back(text.substr(start, i - start));
    } else if (text.substr(i).starts_with(kGreaterEqual)) {
      words.emplace_back(">=");
      i += kGreaterEqual.size();
    } else if (text.substr(i).starts_with(">=")) {
      words.emplace_back(">=");
      i += 2;
    } else {
      if (text[i] == '>' || text[i] == '=' || text[i] == ':') words.emplace_back(1, text[i]);
      const bool blank_line = text[i] == '\n' && i + 1 < text.size() && text[i + 1] == '\n';
      if (text[i] == '.' || text[i] == ';' || text[i] == '|' || text[i] == '#' || blank_line) {
        words.emplace_back(".");
      }
      ++i;
    }
  }
  return words;
}

std::optional<double> Fraction(const std::string& word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (number <= 0 || number >= 1) return std::nullopt;
  return number;
}

bool IsOneOf(const std::string& word, std::initializer_list<const char*> choices) {
  for (const char* choice : choices) {
    if (word == choice) return true;
  }
  return false;
}

/// Keeps one number, and none once a second, different one turns up.
class OneNumber {
 public:
  void Add(double number, const std::string& text) {
    if (count_ == 0) {
      number_ = number;
      text_ = text;
    }
    if (count_ == 0 || number != number_) ++count_;
  }
  std::optional<double> number() const {
    return count_ == 1 ? std::optional<double>(number_) : std::nullopt;
  }
  const std::string& text() const { return text_; }

 private:
  int count_ = 0;
  double number_ = 0;
  std::string text_;
};

std::string Phrase(const Words& words, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += (i > begin ? " " : "") + words[i];
  return text;
}

/// From words[begin] on, over filler words only, to a fraction. `needed` must be among the filler
/// unless it is empty. 0 when there is none, else one past the fraction.
size_t FindFraction(const Words& words, size_t begin, std::initializer_list<const char*> filler,
                    std::initializer_list<const char*> needed) {
  bool has_needed = needed.size() == 0;
  for (size_t i = begin; i < words.size() && i < begin + 7; ++i) {
    if (IsOneOf(words[i], needed)) {
      has_needed = true;
    } else if (Fraction(words[i])) {
      return has_needed ? i + 1 : 0;
    } else if (!IsOneOf(words[i], filler)) {
      return 0;
    }
  }
  return 0;
}

bool IsNegated(const Words& words, size_t at) {
  return at > 0 && IsOneOf(words[at - 1], {"no", "without", "not"});
}

}  // namespace

CardEvidence ReadCardEvidence(const std::string& readme) {
  std::string_view text = readme;
  CardEvidence evidence;
  ReadFrontMatter(TakeFrontMatter(&text), &evidence);

  const Words words = SplitIntoWords(Prose(text));
  OneNumber score;
  OneNumber nms;
  for (size_t i = 0; i < words.size(); ++i) {
    if (IsOneOf(words[i], {"score", "scores", "confidence"})) {
      const size_t end = FindFraction(words, i + 1, {"of", "at", "is", "=", ":", "score", "a"},
                                      {"threshold", "cutoff", ">", ">="});
      if (end > 0) score.Add(*Fraction(words[end - 1]), Phrase(words, i, end));
    }
    if (words[i] == "nms" && !IsNegated(words, i)) {
      const size_t end =
          FindFraction(words, i + 1, {"at", "with", "an", "a", "of", "is", "=", ":", ">", ">="},
                       {"iou", "threshold"});
      if (end > 0) nms.Add(*Fraction(words[end - 1]), Phrase(words, i, end));
    }
  }
  evidence.score_threshold = score.number();
  if (evidence.score_threshold) evidence.score_text = score.text();
  evidence.nms_iou = nms.number();
  if (evidence.nms_iou) evidence.nms_text = nms.text();
  return evidence;
}

}  // namespace sg

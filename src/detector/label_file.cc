#include "detector/label_file.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/files.h"

namespace sg {

Result<std::vector<std::string>> ReadLabelFile(const std::string& path) {
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::string> labels;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    labels.emplace_back(line.substr(0, line.find(';')));
  }
  if (labels.empty()) {
    return UserError(fmt::format("{}: holds no labels; write one a line, in class order", path));
  }
  return labels;
}

namespace {

/// Reads Python's {int: str} or [str] from left to right.
class LabelMapReader {
 public:
  explicit LabelMapReader(std::string_view text) : text_(text) {}

  /// False when the text is something else.
  bool Read(std::map<int, std::string>* labels) {
    const bool is_map = Take('{');
    if (!is_map && !Take('[')) return false;
    const char end = is_map ? '}' : ']';
    while (!Take(end)) {
      int id = static_cast<int>(labels->size());
      std::string label;
      if (is_map && (!ReadId(&id) || !Take(':'))) return false;
      if (!ReadText(&label) || !labels->emplace(id, std::move(label)).second) return false;
      if (!Take(',') && Next() != end) return false;
    }
    return Next() == '\0' && !labels->empty();
  }

 private:
  char Next() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool Take(char c) {
    if (Next() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// A number, bare or in quotes.
  bool ReadId(int* id) {
    std::string quoted;
    if (Next() == '\'' || Next() == '"') {
      if (!ReadText(&quoted)) return false;
      const auto [end, error] = std::from_chars(quoted.data(), quoted.data() + quoted.size(), *id);
      return error == std::errc() && end == quoted.data() + quoted.size() && IsClass(*id);
    }
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), *id);
    if (error != std::errc()) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return IsClass(*id);
  }
  static bool IsClass(int id) { return id >= 0 && id < kMaxClasses; }
  bool ReadText(std::string* label) {
    const char quote = Next();
    if (quote != '\'' && quote != '"') return false;
    text_.remove_prefix(1);
    while (!text_.empty() && text_.front() != quote) {
      if (text_.front() == '\\' && text_.size() > 1) text_.remove_prefix(1);
      label->push_back(text_.front());
      text_.remove_prefix(1);
    }
    return Take(quote);
  }

  static constexpr int kMaxClasses = 100000;
  std::string_view text_;
};

}  // namespace

Result<std::map<int, std::string>> ParseLabelMap(const std::string& text,
                                                 const std::string& where) {
  std::map<int, std::string> labels;
  if (LabelMapReader(text).Read(&labels)) return labels;
  return UserError(fmt::format("{}: is not a label map: {}", where, text.substr(0, 60)));
}

std::string LabelFileText(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += label + "\n";
  return text;
}

}  // namespace sg

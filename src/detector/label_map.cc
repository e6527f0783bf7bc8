#include "detector/label_map.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace sg {
namespace {

constexpr int kMaxClasses = 100000;

Error WrongMap(const std::string& what, const std::string& why) {
  return UserError(
      fmt::format("{} is not a label map: {}; correct it, or give all labels with "
                  "--labels FILE",
                  what, why));
}

std::optional<int> ClassNumber(std::string_view text) {
  int id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id >= 0 && id < kMaxClasses ? std::optional(id) : std::nullopt;
}

Status Add(const std::string& id_text, const std::string& label, const std::string& what,
           LabelMap* labels) {
  const std::optional<int> id = ClassNumber(id_text);
  if (!id) return WrongMap(what, fmt::format("'{}' is not a class number (0 or more)", id_text));
  const auto [old, is_new] = labels->emplace(*id, label);
  if (is_new) return OkStatus();
  return WrongMap(
      what, fmt::format("class {} is there twice, as '{}' and '{}'", *id, old->second, label));
}

/// Reads a Python literal: a dict of numbers (or quoted numbers) to strings, or a list or tuple of
/// strings.
class PythonReader {
 public:
  PythonReader(std::string_view text, const std::string& what) : rest_(text), what_(what) {}

  Result<LabelMap> Read() {
    SkipSpace();
    const char open = Peek();
    if (open != '{' && open != '[' && open != '(') return Wrong("it begins with no bracket");
    const char close = open == '{' ? '}' : open == '[' ? ']' : ')';
    Take();
    LabelMap labels;
    while (true) {
      SkipSpace();
      if (Peek() == close) break;
      SG_RETURN_IF_ERROR(Entry(open == '{', &labels));
      SkipSpace();
      if (Peek() == ',') {
        Take();
      } else if (Peek() != close) {
        return Wrong("',' is missing");
      }
    }
    Take();
    SkipSpace();
    if (!rest_.empty()) return Wrong("text follows the last bracket");
    return labels;
  }

 private:
  Status Entry(bool dict, LabelMap* labels) {
    std::string id = std::to_string(labels->size());
    if (dict) {
      if (Peek() == '\'' || Peek() == '"') {
        SG_ASSIGN_OR_RETURN(id, Quoted());
      } else {
        id.clear();
        while ((Peek() >= '0' && Peek() <= '9') || Peek() == '-') id += Take();
      }
      SkipSpace();
      if (Peek() != ':') return Wrong("a class number is not followed by ':'");
      Take();
      SkipSpace();
    }
    if (Peek() != '\'' && Peek() != '"') {
      return Wrong(fmt::format("the label of class {} is no quoted text", id));
    }
    SG_ASSIGN_OR_RETURN(const std::string label, Quoted());
    return Add(id, label, what_, labels);
  }

  Result<std::string> Quoted() {
    const char quote = Take();
    std::string text;
    while (!rest_.empty() && Peek() != quote) {
      const char c = Take();
      if (c != '\\') {
        text += c;
        continue;
      }
      const char escaped = Take();
      if (escaped == 'x' || escaped == 'u' || escaped == 'U') {
        SG_RETURN_IF_ERROR(CodePoint(escaped == 'x' ? 2 : escaped == 'u' ? 4 : 8, &text));
      } else {
        text += escaped == 'n' || escaped == 't' || escaped == 'r' ? ' ' : escaped;
      }
    }
    if (rest_.empty()) return Wrong("a quotation mark is missing");
    Take();
    return text;
  }

  /// A character given by `digits` hexadecimal digits, as UTF-8.
  Status CodePoint(size_t digits, std::string* text) {
    uint32_t code = 0;
    const std::string_view hex = rest_.substr(0, digits);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (error != std::errc() || hex.size() != digits || end != hex.data() + digits ||
        code > 0x10ffff) {
      return Wrong("an escaped character is damaged");
    }
    rest_.remove_prefix(digits);
    if (code < 0x80) {
      *text += static_cast<char>(code);
      return OkStatus();
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned kLead[] = {0, 0xc0, 0xe0, 0xf0};
    *text += static_cast<char>(kLead[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) {
      *text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
    }
    return OkStatus();
  }

  char Peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  char Take() {
    const char c = Peek();
    if (!rest_.empty()) rest_.remove_prefix(1);
    return c;
  }
  void SkipSpace() {
    while (Peek() == ' ' || Peek() == '\t' || Peek() == '\n' || Peek() == '\r') Take();
  }
  Error Wrong(const std::string& why) const { return WrongMap(what_, why); }

  std::string_view rest_;
  const std::string& what_;
};

}  // namespace

Result<LabelMap> LabelsById(const Json& map, const std::string& what) {
  LabelMap labels;
  for (const auto& [id, label] : map.items()) {
    if (!label.is_string()) {
      return WrongMap(what, fmt::format("the label of class {} is no text", id));
    }
    SG_RETURN_IF_ERROR(Add(id, label.get<std::string>(), what, &labels));
  }
  return labels;
}

Result<LabelMap> IdsByLabel(const Json& map, const std::string& what) {
  LabelMap labels;
  for (const auto& [label, id] : map.items()) {
    if (!id.is_number_integer() && !id.is_string()) {
      return WrongMap(what, fmt::format("'{}' has no class number", label));
    }
    SG_RETURN_IF_ERROR(
        Add(id.is_string() ? id.get<std::string>() : id.dump(), label, what, &labels));
  }
  return labels;
}

namespace {

/// Labels one a line, or with commas between them, without brackets.
bool IsPlainList(const std::string& text) {
  return text.find_first_of("{}[]()'\"\\:") == std::string::npos &&
         text.find_first_of("\n,") != std::string::npos;
}

Result<LabelMap> LabelsOfPlainList(const std::string& text, const std::string& what) {
  const char separator = text.find('\n') != std::string::npos ? '\n' : ',';
  LabelMap labels;
  std::istringstream stream(text);
  std::string label;
  while (std::getline(stream, label, separator)) {
    const size_t from = label.find_first_not_of(" \t\r");
    // A blank at the end is the last line's end; elsewhere it would move the classes behind it.
    if (from == std::string::npos && stream.eof()) break;
    if (from == std::string::npos)
      return WrongMap(what, fmt::format("the label of class {} is empty", labels.size()));
    label = label.substr(from, label.find_last_not_of(" \t\r") - from + 1);
    SG_RETURN_IF_ERROR(Add(std::to_string(labels.size()), label, what, &labels));
  }
  return labels;
}

}  // namespace

Result<LabelMap> LabelsOfText(const std::string& text, const std::string& what) {
  if (const Result<Json> json = ParseJson(text, what); json.ok()) {
    if (json->is_object() || json->is_array()) return LabelsById(*json, what);
  }
  if (IsPlainList(text)) return LabelsOfPlainList(text, what);
  return PythonReader(text, what).Read();
}

Result<LabelMap> LabelsOfYaml(const std::string& text, const std::string& what) {
  LabelMap labels;
  YAML::Node names;
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsMap()) names = root["names"] ? root["names"] : root["label_list"];
    if (!names || !(names.IsMap() || names.IsSequence())) return labels;
    for (const auto& entry : names) {
      const YAML::Node& label = names.IsMap() ? entry.second : static_cast<YAML::Node>(entry);
      const std::string id =
          names.IsMap() ? entry.first.as<std::string>() : std::to_string(labels.size());
      if (!label.IsScalar()) {
        return WrongMap(what, fmt::format("the label of class {} is no text", id));
      }
      SG_RETURN_IF_ERROR(Add(id, label.Scalar(), what, &labels));
    }
  } catch (const YAML::Exception&) {
    return LabelMap();  // another kind of file, or another program's
  }
  return labels;
}

Status CheckNoRepeatedMember(const std::string& json_text, const std::string& key,
                             const std::string& what) {
  std::vector<std::string> path;  // the key under which each open object or list stands
  std::string last_key;
  std::set<std::string> members;
  std::string repeated;
  const Json::parser_callback_t look = [&](int, Json::parse_event_t event, Json& value) {
    switch (event) {
      case Json::parse_event_t::key:
        last_key = value.get<std::string>();
        if (path.size() == 2 && path.back() == key && !members.insert(last_key).second) {
          repeated = last_key;
        }
        break;
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        path.push_back(path.empty() ? "" : last_key);
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        path.pop_back();
        break;
      case Json::parse_event_t::value:
        break;
    }
    return true;
  };
  const Json parsed = Json::parse(json_text, look, /*allow_exceptions=*/false);
  // A text that does not parse is another check's concern.
  if (parsed.is_discarded()) return OkStatus();
  if (repeated.empty()) return OkStatus();
  return WrongMap(what, fmt::format("'{}' is there twice", repeated));
}

bool ArePlaceholders(const LabelMap& labels) {
  return !labels.empty() && std::all_of(labels.begin(), labels.end(), [](const auto& entry) {
    return entry.second == fmt::format("LABEL_{}", entry.first);
  });
}

}  // namespace sg

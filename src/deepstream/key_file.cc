#include "deepstream/key_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sg {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

void KeyFileBuilder::BeginGroup(const std::string& name, int line) {
  for (group_ = 0; group_ < file_.groups_.size(); ++group_) {
    if (file_.groups_[group_].name == name) return;
  }
  file_.groups_.push_back({name, line, {}});
}

void KeyFileBuilder::Add(const std::string& key, const std::string& value, int line) {
  SG_CHECK(in_group());
  auto& entries = file_.groups_[group_].entries;
  auto entry = std::find_if(entries.begin(), entries.end(),
                            [&](const KeyFile::Entry& known) { return known.key == key; });
  if (entry == entries.end()) entry = entries.insert(entry, {key, "", 0});
  entry->value = value;
  entry->line = line;
}

const KeyFile::Group* KeyFile::FindGroup(const std::string& name) const {
  for (const Group& group : groups_) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

Result<KeyFile> KeyFile::Parse(const std::string& text, const std::string& where) {
  KeyFileBuilder builder(where);
  std::string_view rest = text;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (rest.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    rest.remove_prefix(kByteOrderMark.size());
  }

  bool noted = false;
  for (int number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    const std::string_view line = Trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == ';') {
      if (!noted) {
        builder.AddNote(fmt::format("{}:{} a comment that starts with ';': DeepStream needs '#'",
                                    where, number));
      }
      noted = true;
      continue;
    }
    if (line.front() == '[') {
      if (line.back() != ']' || line.size() < 3) {
        return UserError(
            fmt::format("{}:{}: '{}' is not a group, which is [name]", where, number, line));
      }
      builder.BeginGroup(std::string(line.substr(1, line.size() - 2)), number);
      continue;
    }
    const size_t equals = line.find('=');
    const std::string_view key = Trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      return UserError(fmt::format("{}:{}: '{}' is not a key=value line; comments start with #",
                                   where, number, line));
    }
    if (!builder.in_group()) {
      return UserError(
          fmt::format("{}:{}: '{}' stands before the first [group]", where, number, key));
    }
    builder.Add(std::string(key), std::string(Trimmed(line.substr(equals + 1))), number);
  }
  return std::move(builder).Build();
}

std::string UnescapeKeyFileValue(const std::string& value) {
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\' || i + 1 == value.size()) {
      text += value[i];
      continue;
    }
    ++i;
    switch (value[i]) {
      case 's':
        text += ' ';
        break;
      case 'n':
        text += '\n';
        break;
      case 't':
        text += '\t';
        break;
      case 'r':
        text += '\r';
        break;
      case '\\':
        text += '\\';
        break;
      default:
        text += '\\';
        text += value[i];
    }
  }
  return text;
}

std::string EscapeKeyFileValue(const std::string& value) {
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) {
    const bool at_edge = i == 0 || i + 1 == value.size();
    switch (value[i]) {
      case ' ':
        text += at_edge ? "\\s" : " ";
        break;
      case '\t':
        text += "\\t";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\\':
        text += "\\\\";
        break;
      default:
        text += value[i];
    }
  }
  return text;
}

std::vector<std::string> SplitKeyFileList(const std::string& value) {
  std::vector<std::string> parts;
  std::string_view rest = value;
  while (!rest.empty()) {
    const size_t end = rest.find(';');
    parts.emplace_back(Trimmed(rest.substr(0, end)));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

}  // namespace sg

#include "hub/archive_names.h"

#include <fmt/format.h>
#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <optional>

namespace sg {
namespace {

constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxPartBytes = 255;  // what file systems take
constexpr size_t kMaxShown = 100;

/// One character from `text` at `at`, which moves on; nothing when it is not UTF-8 (overlong forms,
/// surrogates and what lies above U+10FFFF are not).
std::optional<char32_t> NextCharacter(const std::string& text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4) return std::nullopt;
  char32_t character = first & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) {
    if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) {
      return std::nullopt;
    }
    character = character << 6 | (static_cast<unsigned char>(text[at++]) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (character < kSmallest[more] || character > 0x10FFFF) return std::nullopt;
  if (character >= 0xD800 && character < 0xE000) return std::nullopt;
  return character;
}

/// Control characters, and those that turn or hide text: a name that shows as another one.
bool IsHidden(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF;
}

void Append(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kFirst[more] | (c >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
}

/// REQUIRES: UTF-8.
std::string LowerCase(const std::string& path) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string lower;
  for (size_t at = 0; at < path.size();) {
    const char32_t c = NextCharacter(path, at).value_or(U'?');
    if (c >= U'A' && c <= U'Z') {
      lower += static_cast<char>(c - U'A' + U'a');
    } else {
      Append(lower,
             utf8 == nullptr ? c : static_cast<char32_t>(towlower_l(static_cast<wint_t>(c), utf8)));
    }
  }
  return lower;
}

std::string PartFault(const std::string& part) {
  if (part == "..") return "leads out of the folder";
  if (part.empty() || part == ".") return "has an empty part in its path";
  if (part.size() > kMaxPartBytes) return "has a name that is too long";
  return "";
}

}  // namespace

std::string TrimmedName(std::string name) {
  size_t begin = 0;
  while (name.compare(begin, 2, "./") == 0) begin += 2;
  name.erase(0, begin);
  while (name.ends_with('/')) name.pop_back();
  return name;
}

std::string NameFault(const std::string& name) {
  if (name.empty()) return "has an empty name";
  if (name.size() > kMaxPathBytes) return "has a name that is too long";
  for (size_t at = 0; at < name.size();) {
    const std::optional<char32_t> c = NextCharacter(name, at);
    // U+FFFD stands for bytes that somebody could not read before us.
    if (!c || *c == 0xFFFD) return "has a name that is not UTF-8";
    if (IsHidden(*c)) return "has a control character in its name";
    if (*c == U'\\') return "has a backslash in its name";
  }
  const bool has_drive = name.size() > 2 && name[1] == ':' && name[2] == '/';
  if (name.front() == '/' || has_drive) return "has an absolute path";
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string fault = PartFault(name.substr(begin, end - begin));
    if (!fault.empty()) return fault;
    begin = end + 1;
  }
  return "";
}

std::string ShownName(const std::string& name) {
  std::string shown;
  size_t characters = 0;
  for (size_t at = 0; at < name.size();) {
    if (++characters > kMaxShown) return shown + "…";
    const std::optional<char32_t> c = NextCharacter(name, at);
    Append(shown, c && !IsHidden(*c) ? *c : U'?');
  }
  return shown;
}

std::string ArchiveNames::AddFoldersAbove(const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    const auto [it, is_new] = names_.try_emplace(LowerCase(folder), Name{folder});
    if (it->second.is_file) return fmt::format("lies in '{}', which is a file", ShownName(folder));
    if (it->second.spelling != folder) {
      return fmt::format("lies in '{}', which differs from '{}' by upper and lower case only",
                         ShownName(folder), ShownName(it->second.spelling));
    }
  }
  return "";
}

std::string ArchiveNames::AddFolder(const std::string& path) {
  const std::string fault = AddFoldersAbove(path + "/");
  const auto it = names_.find(LowerCase(path));
  const bool meets_file = it != names_.end() && it->second.is_file;
  return meets_file ? "is both a file and a folder" : fault;
}

std::string ArchiveNames::AddFile(const std::string& path) {
  if (std::string fault = AddFoldersAbove(path); !fault.empty()) return fault;
  const auto [it, is_new] = names_.try_emplace(LowerCase(path), Name{path, true});
  if (is_new) {
    ++files_;
    return "";
  }
  return it->second.is_file ? "is there twice (upper and lower case count as the same)"
                            : "is both a file and a folder";
}

}  // namespace sg

#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace sg::report {
namespace {

constexpr char kUnknown[] = "unknown";
constexpr char32_t kReplacement = 0xFFFD;

/// Takes one code point off `text` at `*at`; kReplacement for one byte that starts none.
char32_t NextCodePoint(const std::string& text, size_t* at) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned lead = byte(*at);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 1) return static_cast<char32_t>(text[(*at)++]);
  char32_t point = length == 0 || lead > 0xF4 ? kReplacement : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length && point != kReplacement; ++i) {
    if ((byte(*at + i) & 0xC0) != 0x80)
      point = kReplacement;
    else
      point = (point << 6) | (byte(*at + i) & 0x3F);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point == kReplacement || overlong || surrogate || point > 0x10FFFF) {
    const bool spelled_out = length == 3 && text.compare(*at, 3, "\xEF\xBF\xBD") == 0;
    *at += spelled_out ? 3 : 1;
    return kReplacement;
  }
  *at += length;
  return point;
}

void AppendCodePoint(std::string* out, char32_t point) {
  const auto put = [out](unsigned byte) { out->push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | (point >> 6));
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3F));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

/// Characters that move the cursor or reorder what a reader sees.
bool IsControl(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) ||
         point == 0xFEFF;
}

std::string Cleaned(const std::string& text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char32_t point = NextCodePoint(text, &at);
    const bool kept_control = keep_lines && (point == '\n' || point == '\t');
    AppendCodePoint(&out, IsControl(point) && !kept_control ? U' ' : point);
  }
  return out;
}

bool IsAsciiAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::string Scaled(const std::optional<uint64_t>& bytes, double unit, const char* name) {
  if (!bytes) return kUnknown;
  if (*bytes < 1000) return fmt::format("{} bytes", *bytes);
  return Figure(static_cast<double>(*bytes) / unit, 1, name);
}

}  // namespace

std::string Figure(const std::optional<double>& value, int decimals) {
  if (!value || !std::isfinite(*value)) return kUnknown;
  std::string text = fmt::format("{:.{}f}", *value, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text[0] == '-') text.erase(0, 1);
  return text;
}

std::string Figure(const std::optional<double>& value, int decimals, const std::string& unit) {
  const std::string text = Figure(value, decimals);
  return text == kUnknown ? text : text + " " + unit;
}

std::string Shortest(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return kUnknown;
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), *value);
  return std::string(digits.begin(), end.ptr);
}

std::string Megabytes(const std::optional<uint64_t>& bytes) {
  return bytes && *bytes < 1000000 ? Scaled(bytes, 1e3, "kB") : Scaled(bytes, 1e6, "MB");
}

std::string Gibibytes(const std::optional<uint64_t>& bytes) {
  return Scaled(bytes, 1024.0 * 1024 * 1024, "GiB");
}

std::string Percent(const std::optional<double>& fraction, int decimals) {
  if (!fraction) return kUnknown;
  return Figure(*fraction * 100, decimals, "%");
}

std::string OneLine(const std::string& text) { return Trimmed(Cleaned(text, false)); }

std::string Block(const std::string& text) { return Cleaned(text, true); }

std::string Shortened(const std::string& line, size_t characters) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < line.size(); NextCodePoint(line, &at)) starts.push_back(at);
  if (starts.size() <= characters) return line;
  const size_t head = (characters - 1) / 2;
  const size_t tail = characters - 1 - head;
  return line.substr(0, starts[head]) + "…" + line.substr(starts[starts.size() - tail]);
}

std::string Inert(const std::string& text) {
  const std::string line = OneLine(text);
  if (line.empty()) return kUnknown;
  const auto in_word = [&line](size_t at) { return at < line.size() && IsAsciiAlnum(line[at]); };
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    switch (line[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '|':
        out += "&#124;";
        break;
      case '`':
        out += "&#96;";
        break;
      case '_':  // within a word it means nothing
        if (i == 0 || !in_word(i - 1) || !in_word(i + 1)) out += '\\';
        out += '_';
        break;
      case '\\':
      case '*':
      case '[':
      case ']':
      case '~':
        out += '\\';
        out += line[i];
        break;
      default:
        out += line[i];
    }
  }
  return out;
}

std::string InertItem(const std::string& text) {
  std::string out = Inert(text);
  const size_t digits = out.find_first_not_of("0123456789");
  if (std::string("#+-=:").find(out[0]) != std::string::npos)
    out.insert(0, "\\");
  else if (digits > 0 && digits != std::string::npos && (out[digits] == '.' || out[digits] == ')'))
    out.insert(digits, "\\");
  return "- " + out + "\n";
}

std::string Code(const std::string& text) {
  const std::string line = OneLine(text);
  if (line.empty() || line.find_first_of("`|\\") != std::string::npos) return Inert(text);
  return "`" + line + "`";
}

std::string Fenced(const std::string& text, const std::string& language) {
  std::string body = Block(text);
  while (!body.empty() && body.back() == '\n') body.pop_back();
  size_t longest = 0;
  for (size_t at = 0, run = 0; at < body.size(); ++at) {
    run = body[at] == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<size_t>(3, longest + 1), '`');
  return fence + language + "\n" + body + "\n" + fence + "\n";
}

}  // namespace sg::report

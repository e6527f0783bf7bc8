#include "pipeline/launch_lexer.h"

#include <algorithm>
#include <cstring>

namespace sg {
namespace {

bool IsSpace(char c) { return c != '\0' && std::strchr(" \t\n\v\f\r", c) != nullptr; }
bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsAlnum(char c) { return IsAlpha(c) || (c >= '0' && c <= '9'); }
bool IsIdentifier(char c) { return IsAlnum(c) || c == '_' || c == '-' || c == '%' || c == ':'; }

/// Each Match function returns the end of its token that starts at `at`, or `at` for none.
class Matcher {
 public:
  explicit Matcher(std::string_view text) : text_(text) {}

  char At(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  size_t SkipSpace(size_t at) const {
    while (at < text_.size() && IsSpace(text_[at])) ++at;
    return at;
  }

  size_t Identifier(size_t at) const {
    if (!IsAlnum(At(at)) && At(at) != '_') return at;
    while (at < text_.size() && IsIdentifier(text_[at])) ++at;
    return at;
  }

  /// A run without white space (escaped white space allowed), or a quoted text, the longer one.
  size_t String(size_t at) const {
    size_t run = at;
    while (run < text_.size()) {
      if (text_[run] == '\\' && run + 1 < text_.size() && text_[run + 1] != '\n')
        run += 2;
      else if (!IsSpace(text_[run]))
        ++run;
      else
        break;
    }
    return std::max(run, Quoted(at));
  }

  size_t Assignment(size_t at, size_t name_end) const {
    if (name_end == at) return at;
    const size_t equals = SkipSpace(name_end);
    if (At(equals) != '=') return at;
    const size_t value = SkipSpace(equals + 1);
    const size_t end = String(value);
    return end == value ? at : end;
  }

  size_t Preset(size_t at) const {
    constexpr std::string_view kWord = "@preset";
    if (text_.substr(at, kWord.size()) != kWord) return at;
    const size_t equals = SkipSpace(at + kWord.size());
    if (At(equals) != '=') return at;
    const size_t value = SkipSpace(equals + 1);
    const size_t end = String(value);
    return end == value ? at : end;
  }

  size_t Ref(size_t at, size_t name_end) const {
    if (name_end == at || At(name_end) != '.') return at;
    return Identifier(name_end + 1);
  }

  size_t BinRef(size_t at, size_t name_end) const {
    if (name_end == at) return at;
    const size_t dot = SkipSpace(name_end);
    if (At(dot) != '.') return at;
    const size_t bracket = SkipSpace(dot + 1);
    return At(bracket) == '(' ? bracket + 1 : at;
  }

  /// "scheme://rest", or a path that starts with "/" or with one byte of an identifier and "/".
  size_t Url(size_t at) const {
    if (IsAlpha(At(at))) {
      size_t scheme = at + 1;
      while (scheme < text_.size() &&
             (IsAlnum(text_[scheme]) || std::strchr("+,-.", text_[scheme])))
        ++scheme;
      if (text_.substr(scheme, 3) == "://") return String(scheme + 3);
    }
    const size_t slash = at + (At(at) == '/' ? 0 : 1);
    const bool start = slash == at || At(at) == '.' || IsIdentifier(At(at));
    if (!start || At(slash) != '/') return at;
    const size_t end = String(slash + 1);
    return end == slash + 1 ? at : end;
  }

  size_t Link(size_t at) const {
    if (At(at) != '!' && At(at) != ':') return at;
    size_t end = at + 1;
    size_t walk = MimeType(SkipSpace(at + 1));
    if (walk == SkipSpace(at + 1)) return end;
    while (walk < text_.size()) {
      const char c = text_[walk];
      if (c == '\\' && walk + 1 < text_.size()) {
        if (text_[walk + 1] == '!') end = walk + 2;
        walk += 2;
      } else if (c == '!') {
        return walk + 1;
      } else if (c == ';') {
        const size_t next = SkipSpace(walk + 1);
        const size_t mime_end = MimeType(next);
        if (mime_end == next && text_[walk - 1] != ',') break;
        walk = std::max(mime_end, walk + 1);
      } else {
        ++walk;
        if (c == ':') end = walk;
      }
    }
    return end;
  }

 private:
  size_t Quoted(size_t at) const {
    const char quote = At(at);
    if (quote != '"' && quote != '\'') return at;
    size_t end = at;
    for (size_t walk = at + 1; walk < text_.size(); ++walk) {
      if (text_[walk] != quote) continue;
      end = walk + 1;
      if (walk == at + 1 || text_[walk - 1] != '\\') break;
    }
    return end;
  }

  size_t MimeType(size_t at) const {
    const auto run = [this](size_t from) {
      while (from < text_.size() && (IsAlnum(text_[from]) || text_[from] == '-')) ++from;
      return from;
    };
    const size_t slash = run(at);
    if (slash == at || At(slash) != '/') return at;
    const size_t end = run(slash + 1);
    return end == slash + 1 ? at : end;
  }

  std::string_view text_;
};

}  // namespace

LaunchToken NextLaunchToken(std::string_view text, size_t position) {
  const Matcher match(text);
  size_t at = match.SkipSpace(position);
  while (match.At(at) == '#') {
    at = match.SkipSpace(std::min(text.find('\n', at), text.size()));
  }
  LaunchToken best{LaunchTokenKind::kEnd, at, at};
  if (at >= text.size()) return best;
  const auto offer = [&best](LaunchTokenKind kind, size_t end) {
    if (end > best.end) {
      best.kind = kind;
      best.end = end;
    }
  };
  const size_t name_end = match.Identifier(at);
  offer(LaunchTokenKind::kAssignment, match.Assignment(at, name_end));
  offer(LaunchTokenKind::kPreset, match.Preset(at));
  if (text[at] == '.') {
    const size_t pad_end = match.Identifier(at + 1);
    if (pad_end > at + 1) offer(LaunchTokenKind::kPadRef, pad_end);
  }
  offer(LaunchTokenKind::kRef, match.Ref(at, name_end));
  offer(LaunchTokenKind::kBinRef, match.BinRef(at, name_end));
  offer(LaunchTokenKind::kIdentifier, name_end);
  offer(LaunchTokenKind::kLink, match.Link(at));
  offer(LaunchTokenKind::kUrl, match.Url(at));
  offer(LaunchTokenKind::kOperator, at + 1);
  return best;
}

std::string UnescapeLaunchValue(std::string_view raw) {
  if (raw.size() >= 2 && raw.front() == '"' && raw.back() == '"')
    raw = raw.substr(1, raw.size() - 2);
  std::string value;
  bool in_quotes = false;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\' && !in_quotes) {
      if (++i == raw.size()) break;
    } else if (raw[i] == '"' && (!in_quotes || raw[i - 1] != '\\')) {
      in_quotes = !in_quotes;
    }
    value += raw[i];
  }
  return value;
}

std::string EscapeLaunchValue(std::string_view value) {
  if (value.empty()) return "\"\"";
  // A newline cannot follow a backslash; only a quoted word may hold it.
  const bool quote = value.find('\n') != std::string_view::npos;
  std::string word;
  for (const char c : value) {
    if (c == '\\' || c == '"' || (!quote && IsSpace(c))) word += '\\';
    word += c;
  }
  return quote ? '"' + word + '"' : word;
}

}  // namespace sg

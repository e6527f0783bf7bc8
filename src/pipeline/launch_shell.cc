#include "pipeline/launch_shell.h"

#include <algorithm>
#include <cctype>

namespace sg {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// A word after the shell took its quotes away; origin holds the place of each byte.
struct Word {
  std::string text;
  std::vector<size_t> origin;
  size_t end = 0;
  bool found = false;
};

class ShellWords {
 public:
  explicit ShellWords(std::string_view line) : line_(line) {}

  Word Next() {
    SkipBlanks();
    Word word;
    if (at_ >= line_.size() || EndsCommand()) return word;
    word.found = true;
    while (at_ < line_.size() && !IsBlank(line_[at_]) && !EndsCommand()) {
      const char c = line_[at_];
      if (c == '\'' || c == '"')
        TakeQuoted(c, &word);
      else if (c == '\\' && at_ + 1 < line_.size())
        TakeEscaped(&word);
      else
        Take(&word);
    }
    word.end = at_;
    return word;
  }

 private:
  void Take(Word* word) {
    word->text += line_[at_];
    word->origin.push_back(at_++);
  }

  void TakeEscaped(Word* word) {
    ++at_;
    if (line_[at_] == '\n')
      ++at_;
    else
      Take(word);
  }

  void TakeQuoted(char quote, Word* word) {
    ++at_;
    while (at_ < line_.size() && line_[at_] != quote) {
      const bool escape = quote == '"' && line_[at_] == '\\' && at_ + 1 < line_.size() &&
                          std::string_view("\"\\$`\n").find(line_[at_ + 1]) != std::string::npos;
      if (escape)
        TakeEscaped(word);
      else
        Take(word);
    }
    if (at_ < line_.size()) ++at_;
  }

  void SkipBlanks() {
    while (at_ < line_.size()) {
      if (IsBlank(line_[at_]))
        ++at_;
      else if (line_.substr(at_, 2) == "\\\n")
        at_ += 2;
      else if (line_.substr(at_, 3) == "\\\r\n")
        at_ += 3;
      else if (line_[at_] == '#')
        at_ = std::min(line_.find('\n', at_), line_.size());
      else
        break;
    }
  }

  bool EndsCommand() const {
    const char c = line_[at_];
    if (c == '|' || c == '&' || c == '>' || c == '<') return true;
    return c == ';' && (at_ + 1 == line_.size() || IsBlank(line_[at_ + 1]));
  }

  std::string_view line_;
  size_t at_ = 0;
};

bool IsLaunchCommand(const std::string& word) {
  const auto name = std::string_view(word).substr(word.rfind('/') + 1);
  return name == "gst-launch-1.0" || name == "gst-launch";
}

bool MayComeBefore(const std::string& word) {
  return word == "env" || word == "sudo" || word == "time" || word == "exec" || word == "$" ||
         word.find('=') != std::string::npos || word == "-E";
}

void Append(const Word& word, LaunchText* out) {
  bool in_quotes = false;
  for (size_t i = 0; i < word.text.size(); ++i) {
    const char c = word.text[i];
    if (c == '"' && (!in_quotes || word.text[i - 1] != '\\')) in_quotes = !in_quotes;
    if (c == ' ' && !in_quotes) {
      out->text += '\\';
      out->origin.push_back(word.origin[i]);
    }
    out->text += c;
    out->origin.push_back(word.origin[i]);
  }
  out->text += ' ';
  out->origin.push_back(word.end);
}

LaunchText Plain(std::string_view line) {
  LaunchText out;
  out.text = std::string(line);
  for (size_t i = 0; i <= line.size(); ++i) out.origin.push_back(i);
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const bool crlf = line.substr(i, 3) == "\\\r\n";
    if (line[i] == '\\' && (line[i + 1] == '\n' || crlf)) out.text[i] = ' ';
  }
  return out;
}

}  // namespace

LaunchText ReadShellLine(std::string_view line) {
  ShellWords words(line);
  Word word = words.Next();
  while (word.found && !IsLaunchCommand(word.text) && MayComeBefore(word.text)) word = words.Next();
  if (!word.found || !IsLaunchCommand(word.text)) return Plain(line);
  LaunchText out;
  size_t end = word.end;
  for (word = words.Next(); word.found; word = words.Next()) {
    end = word.end;
    // Options may stand anywhere; none that gst-launch-1.0 has takes its value from the next word
    // but these.
    if (word.text == "-X" || word.text == "--exclude") words.Next();
    const bool option = word.text.size() > 1 && word.text[0] == '-';
    if (!option) Append(word, &out);
  }
  out.origin.push_back(end);
  return out;
}

}  // namespace sg

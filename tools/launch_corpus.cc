// launch_corpus FILE…: reads every launch string of CSV files (the last column of each row) and of
// text files (one a line), prints and reads it again, and lists those that do not come back the
// same with the reason. Exit code 1 if there is one.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"
#include "pipeline/launch_parser.h"

namespace sg {
namespace {

struct Entry {
  int line = 0;
  std::string text;
};

/// RFC 4180: quoted fields may hold commas, doubled quotes and line ends.
std::vector<Entry> LastColumns(const std::string& csv) {
  std::vector<Entry> rows;
  Entry row;
  int line = 1;
  row.line = line;
  bool quoted = false;
  const auto finish = [&] {
    if (!row.text.empty()) rows.push_back(row);
    row = {line, ""};
  };
  for (size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (c == '\n') ++line;
    if (c == '"' && quoted && i + 1 < csv.size() && csv[i + 1] == '"')
      row.text += csv[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      row.text.clear();
    else if (c == '\n' && !quoted)
      finish();
    else if (c != '\r')
      row.text += c;
  }
  finish();
  return rows;
}

std::vector<Entry> Lines(const std::string& text) {
  std::vector<Entry> lines;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++number;
    if (end > begin) lines.push_back({number, text.substr(begin, end - begin)});
    begin = end + 1;
  }
  return lines;
}

/// Why the text does not come back the same; empty: it does.
std::string Fault(const std::string& text) {
  const auto graph = ParseLaunch(text, "");
  if (!graph.ok()) return graph.error().message;
  const auto printed = PrintLaunch(*graph);
  if (!printed.ok()) return printed.error().message;
  const auto again = ParseLaunch(*printed, "");
  if (!again.ok()) return "printed form: " + again.error().message;
  return SameGraph(*graph, *again) ? "" : "the printed form is another graph";
}

}  // namespace
}  // namespace sg

int main(int argc, char** argv) {
  int all = 0;
  int faults = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    const auto text = sg::ReadFile(path);
    if (!text.ok()) {
      std::fprintf(stderr, "%s\n", text.error().message.c_str());
      return 2;
    }
    const auto entries = path.ends_with(".csv") ? sg::LastColumns(*text) : sg::Lines(*text);
    for (const auto& entry : entries) {
      if (entry.text.find('!') == std::string::npos) continue;
      ++all;
      const auto fault = sg::Fault(entry.text);
      if (fault.empty()) continue;
      ++faults;
      std::printf("%s:%d: %s\n    %s\n", path.c_str(), entry.line, fault.c_str(),
                  entry.text.c_str());
    }
  }
  std::printf("%d launch strings, %d come back the same, %d do not\n", all, all - faults, faults);
  return faults == 0 ? 0 : 1;
}

#include "detector/parser_source.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/subprocess.h"
#include "detector/heads/family.h"
#include "detector/heads/parser_text.h"

namespace sg {
namespace {

bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsAsciiAlnum(char c) { return IsAsciiLetter(c) || (c >= '0' && c <= '9'); }
char AsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char AsciiUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// Output names may hold anything; a comment ends with its line, or goes on after a backslash.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c == '\\' || c == '?') c = '_';
  }
  return text;
}

Status WriteIfDifferent(const std::string& path, const std::string& bytes) {
  if (FileExists(path)) {
    SG_ASSIGN_OR_RETURN(const std::string old, ReadFile(path));
    if (old == bytes) return OkStatus();
  }
  return WriteFileAtomic(path, bytes);
}

/// The compiler's first complaint in what make printed, else make's last words.
std::string FirstErrorLine(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (line.find("error:") != std::string::npos || line.find("Error ") != std::string::npos) {
      return line;
    }
  }
  return lines.empty() ? "no output" : lines.back();
}

}  // namespace

ParserNames NamesOfParser(const std::string& model_name) {
  ParserNames names;
  std::string pascal;
  bool part_starts = true;
  for (const char c : model_name) {
    if (!IsAsciiAlnum(c)) {
      names.safe_name += '_';
      part_starts = true;
      continue;
    }
    names.safe_name += c;
    pascal += part_starts ? AsciiUpper(c) : AsciiLower(c);
    part_starts = false;
  }
  names.function_name = "NvDsInferParseCustom" + pascal;
  names.cpp_name = "nvdsinfer_custombboxparser_" + names.safe_name + ".cpp";
  names.library_name = "libnvdsinfer_" + names.safe_name + "_parser.so";
  return names;
}

ParserSource GenerateParser(const ModelCard& card) {
  ParserSource source;
  source.names = NamesOfParser(card.name);
  const TextValues values = {
      {"FUNCTION", source.names.function_name},
      {"CLASSES", fmt::format("{}", card.head.num_classes)},
      {"LIBRARY", source.names.library_name},
      {"SOURCE", source.names.cpp_name},
  };
  source.cpp = fmt::format(
      "// Bounding box parser of {} for DeepStream's nvinfer, written by streamgauge import.\n"
      "// Input {} x {}. Head: {}\n"
      "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstdio>\n"
      "#include <cstring>\n#include <initializer_list>\n#include <limits>\n#include <mutex>\n"
      "#include <string>\n#include <type_traits>\n#include <vector>\n",
      card.name, card.input_width, card.input_height, OneLine(HeadText(card.head)));
  source.cpp += kParserAbiText;
  source.cpp += Filled(kParserCommonText, values);
  source.cpp += FamilyOf(card.head.kind).parser_text(card.head);
  source.cpp += Filled(kParserFunctionText, values);
  source.makefile = Filled(kMakefileText, values);
  return source;
}

Status WriteParser(const ParserSource& source, const std::string& folder) {
  SG_RETURN_IF_ERROR(MakeFolders(folder));
  SG_RETURN_IF_ERROR(WriteIfDifferent(JoinPath(folder, source.names.cpp_name), source.cpp));
  return WriteIfDifferent(JoinPath(folder, "Makefile"), source.makefile);
}

Result<std::string> CompileParser(const std::string& folder, const ParserNames& names,
                                  double deadline_s) {
  for (const char* program : {"make", "g++"}) {
    if (FindProgram(program).empty()) {
      return EnvironmentError(
          fmt::format("{} is not installed, and the parser cannot be compiled without it; on "
                      "Debian and Ubuntu: "
                      "apt install make g++",
                      program));
    }
  }
  std::vector<std::string> lines;
  Subprocess make;
  // Always made anew: a library that only looks newer than its source is not trusted.
  make.argv = {"make", "--always-make", "-C", AbsolutePath(folder), names.library_name};
  make.environment = {{"MAKEFLAGS", ""}, {"MAKELEVEL", ""}};
  make.deadline_s = deadline_s;
  make.on_stdout_line = [&](const std::string& line) { lines.push_back(line); };
  make.on_stderr_line = [&](const std::string& line) { lines.push_back(line); };
  SG_ASSIGN_OR_RETURN(const SubprocessExit exit, RunSubprocess(make));
  if (exit.interrupted) return InterruptedError();
  if (exit.timed_out) {
    return EnvironmentError(
        fmt::format("{}: compiling the parser took longer than {:g} s", folder, deadline_s));
  }
  if (exit.code != 0) {
    return InternalError(
        fmt::format("{}: the parser does not compile: {}", folder, FirstErrorLine(lines)));
  }
  const std::string path = JoinPath(folder, names.library_name);
  SG_ASSIGN_OR_RETURN(const ParserLibrary library, ParserLibrary::Load(path, names.function_name));
  return path;
}

}  // namespace sg

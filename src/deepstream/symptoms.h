// Errors that people meet with TensorRT, DeepStream and containers, by what logs say of them: cause
// and remedy. docs/troubleshooting.md is this catalogue.
#pragma once

#include <string>
#include <vector>

namespace sg {

struct Symptom {
  const char* title;  ///< a few plain words
  const char* tool;   ///< whose log it is in: "trtexec", "DeepStream", "container", "driver"
  /// Texts of one line; a line must hold all of one alternative.
  std::vector<std::vector<const char*>> lines;
  const char* cause;
  const char* remedy;
  bool harmless = false;  ///< people take it for the fault, and it is none
};

/// The whole catalogue, the most telling first: what names a cause stands before what only names a
/// consequence (running out of memory before "no implementation for node").
const std::vector<Symptom>& Symptoms();

/// Those whose text is in the log, in the catalogue's order, harmless ones last.
std::vector<const Symptom*> FindSymptoms(const std::string& log);

/// "CAUSE; REMEDY" of the first that is not harmless; empty when the log says nothing known.
std::string ExplainLog(const std::string& log);

/// docs/troubleshooting.md.
std::string TroubleshootingPage();

}  // namespace sg

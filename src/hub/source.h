// What the user typed, understood: where a model comes from.
#pragma once

#include <string>

#include "base/status.h"

namespace sg {

enum class SourceKind {
  kHuggingFace,
  kNgc,
  kUrl,  ///< http(s): an .onnx or an archive
  kLocalFolder,
  kLocalFile,  ///< an .onnx or an archive
};

struct ModelSource {
  SourceKind kind = SourceKind::kLocalFolder;
  std::string text;      ///< as typed
  std::string org;       ///< Hugging Face, NGC
  std::string team;      ///< NGC; may be empty
  std::string name;      ///< Hugging Face, NGC: the model's; URL: the file's
  std::string revision;  ///< Hugging Face: branch, tag or commit; NGC: version. Empty: none asked
  std::string folder;    ///< Hugging Face: the folder a /tree/ URL points at; empty: the top
  std::string file;      ///< Hugging Face, NGC: the file that the URL points at; empty: none
  std::string url;       ///< kUrl
  std::string path;      ///< local kinds
};

/// Understands a Hugging Face id (org/name, org/name@revision), its URLs (huggingface.co, hf.co,
/// the host of HF_ENDPOINT; /tree/, /blob/, /resolve/), a URL of NGC's catalog or API, an http(s)
/// or file URL, a local folder or file. A local path that exists wins over an id of the same form.
/// kUser for everything else: nothing is guessed. Looks at the file system for existence only.
Result<ModelSource> ParseSource(const std::string& text);

/// "Hugging Face", "NGC", …
const char* SourceKindName(SourceKind kind);

}  // namespace sg

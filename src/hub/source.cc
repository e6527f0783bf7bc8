#include "hub/source.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "hub/ngc_source.h"
#include "hub/url.h"

namespace sg {
namespace {

constexpr char kForms[] =
    "a Hugging Face id (org/name) or URL, an NGC catalog URL with a version, an http(s) or file "
    "URL, a local folder, an .onnx file or a .zip/.tar.gz";

bool IsIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// One half of org/name, by the hub's rules: no "--" and no "..", no '.' or '-' at either end.
bool IsIdPart(std::string_view part) {
  if (part.empty() || part.size() > 96) return false;
  for (const char c : part) {
    if (!IsIdCharacter(c)) return false;
  }
  const auto edge = [](char c) { return c == '.' || c == '-'; };
  return !edge(part.front()) && !edge(part.back()) && part.find("--") == std::string_view::npos &&
         part.find("..") == std::string_view::npos;
}

/// A branch, tag, commit or refs/pr/N. It becomes part of a URL and of a path in the cache.
bool IsRevision(std::string_view revision) {
  if (revision.empty() || revision.size() > 200 || revision.front() == '/' ||
      revision.back() == '/' || revision.find("..") != std::string_view::npos ||
      revision.find("//") != std::string_view::npos) {
    return false;
  }
  for (const char c : revision) {
    if (!IsIdCharacter(c) && c != '/' && c != '+') return false;
  }
  return true;
}

std::vector<std::string> SplitPath(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string JoinFrom(const std::vector<std::string>& parts, size_t first) {
  std::string path;
  for (size_t i = first; i < parts.size(); ++i) path += (i > first ? "/" : "") + parts[i];
  return path;
}

bool IsHuggingFaceHost(const Url& url) {
  if (url.host == "huggingface.co" || url.host == "www.huggingface.co" || url.host == "hf.co") {
    return true;
  }
  const char* endpoint = std::getenv("HF_ENDPOINT");
  if (endpoint == nullptr || *endpoint == '\0') return false;
  const Result<Url> own = ParseUrl(endpoint);
  return own.ok() && own->Origin() == url.Origin();
}

Result<ModelSource> NotUnderstood(const std::string& text, const std::string& why) {
  return UserError(fmt::format("{}: {}; give {}", text, why, kForms));
}

/// org/name[@revision].
std::optional<ModelSource> FromId(const std::string& text) {
  const size_t at = text.find('@');
  const std::string id = text.substr(0, at);
  const size_t slash = id.find('/');
  if (slash == std::string::npos) return std::nullopt;
  ModelSource source;
  source.kind = SourceKind::kHuggingFace;
  source.org = id.substr(0, slash);
  source.name = id.substr(slash + 1);
  if (!IsIdPart(source.org) || !IsIdPart(source.name)) return std::nullopt;
  if (at != std::string::npos) {
    source.revision = text.substr(at + 1);
    if (!IsRevision(source.revision)) return std::nullopt;
  }
  return source;
}

Result<ModelSource> FromHuggingFaceUrl(const std::string& text, const Url& url) {
  std::vector<std::string> parts = SplitPath(PercentDecoded(url.path));
  if (!parts.empty() && parts[0] == "models") parts.erase(parts.begin());
  if (!parts.empty() && (parts[0] == "datasets" || parts[0] == "spaces")) {
    return NotUnderstood(text, fmt::format("is one of the hub's {}, not a model", parts[0]));
  }
  if (parts.size() < 2) return NotUnderstood(text, "names no model (org/name)");
  const std::optional<ModelSource> found = FromId(parts[0] + "/" + parts[1]);
  if (!found) return NotUnderstood(text, "names no model (org/name[@revision])");
  ModelSource source = *found;
  if (parts.size() == 2) return source;
  const std::string& view = parts[2];
  if (view != "tree" && view != "blob" && view != "resolve" && view != "raw") return source;
  if (parts.size() < 4) return NotUnderstood(text, fmt::format("has no revision after /{}", view));
  // refs/pr/7 is one revision of three parts; a branch with a slash comes percent-encoded, and one
  // cannot be told from a folder here.
  size_t after = 4;
  if (parts[3] == "refs" && parts.size() >= 6) after = 6;
  source.revision = parts[3];
  for (size_t i = 4; i < after; ++i) source.revision += "/" + parts[i];
  if (!IsRevision(source.revision)) {
    return NotUnderstood(text, fmt::format("'{}' is not a revision", source.revision));
  }
  const std::string rest = JoinFrom(parts, after);
  if (view == "tree") {
    source.folder = rest;
  } else {
    if (rest.empty()) return NotUnderstood(text, fmt::format("has no file after /{}/", view));
    source.file = rest;
  }
  return source;
}

Result<ModelSource> FromLocal(const std::string& text, const std::string& path) {
  ModelSource source;
  source.path = path;
  source.name = BaseName(AbsolutePath(path));
  if (FolderExists(path)) {
    source.kind = SourceKind::kLocalFolder;
  } else if (FileExists(path)) {
    source.kind = SourceKind::kLocalFile;
  } else {
    return UserError(fmt::format("{}: no such file or folder", text));
  }
  return source;
}

Result<ModelSource> FromUrl(const std::string& text) {
  SG_ASSIGN_OR_RETURN(const Url url, ParseUrl(text));
  if (url.scheme == "file") {
    if (!url.host.empty() && url.host != "localhost") {
      return NotUnderstood(text, "is a file URL of another machine");
    }
    return FromLocal(text, PercentDecoded(url.path));
  }
  if (url.scheme == "hf") {  // hf://org/name, huggingface_hub's own form
    Url hub = url;
    hub.path = "/" + url.host + url.path;
    return FromHuggingFaceUrl(text, hub);
  }
  if (url.scheme != "http" && url.scheme != "https") {
    return NotUnderstood(text, fmt::format("{}:// is not supported", url.scheme));
  }
  if (IsHuggingFaceHost(url)) return FromHuggingFaceUrl(text, url);
  if (const std::optional<ModelSource> ngc = ParseNgcUrl(url)) return *ngc;
  if (IsNgcCatalog(url)) {
    return NotUnderstood(
        text, "names no model of NGC (…/orgs/ORG/[teams/TEAM/]models/NAME?version=VERSION)");
  }
  ModelSource source;
  source.kind = SourceKind::kUrl;
  source.url = text;
  const std::vector<std::string> parts = SplitPath(PercentDecoded(url.path));
  source.name = parts.empty() ? url.host : parts.back();
  return source;
}

/// Typed as a path: it begins like one, or ends like a file that only a path can name.
bool LooksLikePath(const std::string& text) {
  for (const char* start : {"/", "./", "../", "~"}) {
    if (text.starts_with(start)) return true;
  }
  if (text == "." || text == "..") return true;
  for (const char* end : {".onnx", ".zip", ".tar", ".tar.gz", ".tgz", ".engine", ".plan", "/"}) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

Result<ModelSource> Understand(const std::string& text) {
  if (text.find("://") != std::string::npos) return FromUrl(text);
  if (text.starts_with("file:/")) return FromLocal(text, PercentDecoded(text.substr(5)));
  if (FolderExists(text) || FileExists(text) || LooksLikePath(text)) return FromLocal(text, text);
  // A URL typed without its scheme.
  for (const char* host :
       {"huggingface.co/", "hf.co/", "catalog.ngc.nvidia.com/", "ngc.nvidia.com/"}) {
    if (text.starts_with(host)) return FromUrl("https://" + text);
  }
  if (const std::optional<ModelSource> source = FromId(text)) return *source;
  return NotUnderstood(text, "is not a source that can be understood, and nothing is guessed");
}

}  // namespace

Result<ModelSource> ParseSource(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return UserError("the model's source has a control character in it");
    }
  }
  if (text.empty()) return UserError(fmt::format("no model was named; give {}", kForms));
  SG_ASSIGN_OR_RETURN(ModelSource source, Understand(text));
  source.text = text;
  return source;
}

const char* SourceKindName(SourceKind kind) {
  switch (kind) {
    case SourceKind::kHuggingFace:
      return "Hugging Face";
    case SourceKind::kNgc:
      return "NGC";
    case SourceKind::kUrl:
      return "URL";
    case SourceKind::kLocalFolder:
      return "local folder";
    case SourceKind::kLocalFile:
      return "local file";
  }
  return "";
}

}  // namespace sg

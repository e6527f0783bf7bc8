// The forms, and where each is in use. The catalog's pages:
// - catalog.ngc.nvidia.com/orgs/ORG[/teams/TEAM]/models/NAME[/files][?version=VERSION]
// (DeepStream's
//   skills/deepstream-import-vision-model/references/model-acquire.md);
// - catalog.ngc.nvidia.com/orgs/ORG[/TEAM]/models/NAME[/VERSION or -[/…]], its newer pages (Isaac
//   ROS's documentation of CenterPose);
// - ngc.nvidia.com/catalog/models/ORG[:TEAM]:NAME[/files], its older pages (the READMEs of
//   StyleGAN3 and of DeepStream's LPR sample).
// The API, as scripts and the catalog's "wget" button have it:
// - /v2/models/ORG[/TEAM]/NAME/versions/VERSION/zip or /files[/FILE] (DeepStream's samples);
// - /v2/org/ORG[/team/TEAM]/models/NAME/versions/VERSION/… (the ngc CLI);
// - /v2/models/org/ORG[/team/TEAM]/NAME/VERSION/files?path=FILE (deepstream_tao_apps).
#include "hub/ngc_source.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/files.h"

namespace sg {
namespace {

/// By DeepStream's ngc-download.sh, which takes nothing else into a URL.
bool IsNgcPart(std::string_view part) {
  if (part.empty() || part.size() > 128 || part == "." || part == "..") return false;
  return std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

/// Reads a path's parts from its start to its end.
class Parts {
 public:
  explicit Parts(const std::string& path) {
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      if (end > begin) parts_.push_back(PercentDecoded(path.substr(begin, end - begin)));
      begin = end + 1;
    }
  }

  size_t left() const { return parts_.size() - at_; }
  /// Goes on behind the word if it is the next part.
  bool Take(std::string_view word) {
    if (left() == 0 || parts_[at_] != word) return false;
    ++at_;
    return true;
  }
  /// Empty at the end.
  std::string Next() { return left() == 0 ? "" : parts_[at_++]; }
  /// How far away the word is; `left()` when it does not come.
  size_t DistanceTo(std::string_view word) const {
    const auto from = parts_.begin() + static_cast<std::ptrdiff_t>(at_);
    return static_cast<size_t>(std::find(from, parts_.end(), word) - from);
  }
  std::string Rest() {
    std::string rest;
    while (left() > 0) rest += (rest.empty() ? "" : "/") + Next();
    return rest;
  }

 private:
  std::vector<std::string> parts_;
  size_t at_ = 0;
};

/// ORG[/teams/TEAM or /TEAM]/models/NAME…; `team_word` is "teams" or "team".
bool ReadOrgTeamName(Parts* parts, std::string_view team_word, ModelSource* source) {
  source->org = parts->Next();
  if (parts->Take(team_word) || parts->DistanceTo("models") == 1) source->team = parts->Next();
  if (!parts->Take("models")) return false;
  source->name = parts->Next();
  return true;
}

/// What follows a version in the API: zip, or files with the path behind it or in the query.
bool ReadWhatOfVersion(Parts* parts, const Url& url, ModelSource* source) {
  if (parts->left() == 0 || parts->Take("zip")) return true;
  if (!parts->Take("files")) return false;
  const std::string rest = parts->Rest();
  source->file = rest.empty() ? url.QueryValue("path") : rest;
  return true;
}

bool ReadCatalog(const Url& url, ModelSource* source) {
  Parts parts(url.path);
  if (!parts.Take("orgs") || !ReadOrgTeamName(&parts, "teams", source)) return false;
  source->revision = url.QueryValue("version");
  // Tabs of a page, and "-" for no version.
  for (const char* tab : {"files", "version", "tags", "overview", "-"}) {
    if (parts.Take(tab)) return true;
  }
  if (source->revision.empty()) source->revision = parts.Next();
  if (parts.Take("download-file")) source->file = url.QueryValue("path");
  return true;
}

/// ORG:NAME or ORG:TEAM:NAME.
bool ReadOldCatalog(const Url& url, ModelSource* source) {
  Parts parts(url.path);
  if (!parts.Take("catalog") || !parts.Take("models")) return false;
  const std::string id = parts.Next();
  const size_t first = id.find(':');
  const size_t last = id.rfind(':');
  if (first == std::string::npos) return false;
  source->org = id.substr(0, first);
  if (last != first) source->team = id.substr(first + 1, last - first - 1);
  source->name = id.substr(last + 1);
  source->revision = url.QueryValue("version");
  return true;
}

bool ReadApi(const Url& url, ModelSource* source) {
  Parts parts(url.path);
  if (!parts.Take("v2")) return false;
  const bool has_versions = parts.DistanceTo("versions") < parts.left();
  if (parts.Take("org")) {
    if (!ReadOrgTeamName(&parts, "team", source)) return false;
  } else if (!parts.Take("models")) {
    return false;
  } else if (has_versions) {
    const bool has_team = parts.DistanceTo("versions") == 3;
    source->org = parts.Next();
    if (has_team) source->team = parts.Next();
    source->name = parts.Next();
  } else {
    if (!parts.Take("org")) return false;
    source->org = parts.Next();
    if (parts.Take("team")) source->team = parts.Next();
    source->name = parts.Next();
  }
  if (has_versions && !parts.Take("versions")) return false;
  source->revision = parts.Next();
  return ReadWhatOfVersion(&parts, url, source);
}

bool IsApi(const Url& url) {
  const Result<Url> own = ParseUrl(NgcEndpoint());
  return url.host == "api.ngc.nvidia.com" || (own.ok() && own->Origin() == url.Origin());
}

}  // namespace

std::string NgcEndpoint() {
  std::string endpoint = FirstEnvironment({"NGC_CLI_API_URL", "NGC_ENDPOINT"});
  if (endpoint.empty()) return "https://api.ngc.nvidia.com";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint.find("://") == std::string::npos ? "https://" + endpoint : endpoint;
}

bool IsNgcCatalog(const Url& url) {
  return url.host == "catalog.ngc.nvidia.com" || url.host == "ngc.nvidia.com";
}

std::optional<ModelSource> ParseNgcUrl(const Url& url) {
  ModelSource source;
  source.kind = SourceKind::kNgc;
  bool is_model = false;
  if (url.host == "catalog.ngc.nvidia.com") is_model = ReadCatalog(url, &source);
  if (url.host == "ngc.nvidia.com") is_model = ReadOldCatalog(url, &source);
  if (IsApi(url)) is_model = ReadApi(url, &source);
  if (!is_model) return std::nullopt;
  // An older form puts the version behind the name, as the ngc CLI does: …/models/NAME:VERSION.
  if (const size_t colon = source.name.find(':'); colon != std::string::npos) {
    if (source.revision.empty()) source.revision = source.name.substr(colon + 1);
    source.name.erase(colon);
  }
  if (!IsNgcPart(source.org) || !IsNgcPart(source.name)) return std::nullopt;
  if (!source.team.empty() && !IsNgcPart(source.team)) return std::nullopt;
  if (!source.revision.empty() && !IsNgcPart(source.revision)) return std::nullopt;
  if (!source.file.empty() && !IsInnerPath(source.file)) return std::nullopt;
  return source;
}

}  // namespace sg

// Addresses and answers as NVIDIA's own scripts and clients use them:
// - public: NGC_ENDPOINT/v2/models/ORG[/TEAM]/NAME/versions[/VERSION/files[/PATH]]
//   (DeepStream's
//   skills/deepstream-import-vision-model/scripts/model/ngc-{list-files,download}.sh);
// - with a key: NGC_ENDPOINT/v2/org/ORG[/team/TEAM]/models/NAME/versions/… (the catalog's own REST
//   downloads);
// - a legacy key is exchanged at NGC_AUTH_ENDPOINT?service=ngc&scope=group/ngc:ORG as user
//   "$oauthtoken" (TAO Toolkit's NGC utilities); a personal key (nvapi-…) is the bearer itself.
#include "hub/ngc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/environment.h"
#include "base/files.h"
#include "hub/download.h"
#include "hub/http.h"
#include "hub/url.h"

namespace sg {
namespace {

constexpr char kKeyHelp[] =
    "set NGC_API_KEY to a key made at https://org.ngc.nvidia.com/setup/api-keys";

std::string EnvironmentOr(const char* name, const char* otherwise) {
  const std::string value = Environment(name);
  return value.empty() ? otherwise : value;
}

std::string Base64(const std::string& text) {
  std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  encoded.resize(static_cast<size_t>(length));
  return encoded;
}

/// The text of the first key that is there.
std::string TextAt(const Json& object, std::initializer_list<const char*> keys) {
  if (!object.is_object()) return "";
  for (const char* key : keys) {
    const auto value = object.find(key);
    if (value != object.end() && value->is_string()) return value->get<std::string>();
  }
  return "";
}

/// The answer itself when it is a list, else the list under one of the keys.
Json ListIn(const Json& answer, std::initializer_list<const char*> keys) {
  if (answer.is_array()) return answer;
  for (const char* key : keys) {
    if (answer.is_object() && answer.contains(key) && answer[key].is_array()) return answer[key];
  }
  return Json::array();
}

class NgcRepository : public Repository {
 public:
  NgcRepository(const ModelSource& source, HubOptions options)
      : source_(source),
        options_(std::move(options)),
        key_(FirstEnvironment({"NGC_API_KEY", "NGC_CLI_API_KEY"})) {
    const std::string team = source.team.empty() ? "" : source.team + "/";
    snapshot_.source = source.text;
    snapshot_.kind = SourceKindName(source.kind);
    snapshot_.id = fmt::format("{}/{}{}:{}", source.org, team, source.name, source.revision);
    snapshot_.name = source.name;
    snapshot_.revision = source.revision;
    snapshot_.commit = source.revision;  // a version does not change once it is published
    snapshot_.folder = options_.staging_folder;
    const std::string endpoint = EnvironmentOr("NGC_ENDPOINT", "https://api.ngc.nvidia.com");
    versions_url_ =
        key_.empty()
            ? fmt::format("{}/v2/models/{}/{}{}/versions", endpoint, source.org, team, source.name)
            : fmt::format("{}/v2/org/{}/{}models/{}/versions", endpoint, source.org,
                          team.empty() ? "" : "team/" + team, source.name);
  }

  Status Open() {
    SG_RETURN_IF_ERROR(LogIn());
    if (source_.revision.empty()) {
      SG_ASSIGN_OR_RETURN(const std::vector<std::string> versions, ListVersions());
      return UserError(fmt::format("{}: names no version; add ?version=VERSION, one of: {}",
                                   source_.text, fmt::join(versions, ", ")));
    }
    SG_ASSIGN_OR_RETURN(const Json answer, GetJson(FilesUrl()));
    const Json entries = ListIn(answer, {"modelFiles", "files", "recipeFiles"});
    for (const Json& entry : entries) SG_RETURN_IF_ERROR(AddFile(entry));
    if (files_.empty()) {
      return EnvironmentError(
          fmt::format("{}: NGC lists no files for it ({})", snapshot_.id, ShownUrl(FilesUrl())));
    }
    return CheckFormats();
  }

  const ModelSnapshot& snapshot() const override { return snapshot_; }
  const std::vector<RepositoryFile>& files() const override { return files_; }

  Status Fetch(const std::vector<std::string>& paths) override {
    std::vector<DownloadFile> downloads;
    for (const std::string& path : paths) {
      const auto file = std::find_if(files_.begin(), files_.end(),
                                     [&](const RepositoryFile& f) { return f.path == path; });
      if (file == files_.end()) {
        return UserError(fmt::format("{}: has no file {}", snapshot_.id, path));
      }
      DownloadFile download;
      download.url = FilesUrl() + "/" + PercentEncoded(path, /*keep_slash=*/true);
      download.path = JoinPath(snapshot_.folder, path);
      if (file->size_bytes > 0) download.size_bytes = file->size_bytes;
      download.sha256 = file->sha256;
      downloads.push_back(std::move(download));
    }
    DownloadOptions download_options;
    download_options.token = token_;
    download_options.explain = [this](const HttpResponse& response) { return Explain(response); };
    download_options.progress = options_.progress;
    return DownloadFiles(&client_, downloads, download_options);
  }

 private:
  std::string FilesUrl() const {
    return fmt::format("{}/{}/files", versions_url_, PercentEncoded(source_.revision));
  }

  Status LogIn() {
    if (key_.empty() || key_.starts_with("nvapi-")) {
      token_ = key_;
      return OkStatus();
    }
    const std::string group = "group/ngc:" + source_.org;
    HttpRequest request;
    request.url =
        fmt::format("{}?service=ngc&scope={}",
                    EnvironmentOr("NGC_AUTH_ENDPOINT", "https://authn.nvidia.com/token"), group);
    if (!source_.team.empty()) request.url += fmt::format("&scope={}/{}", group, source_.team);
    request.headers = {"Accept: application/json",
                       "Authorization: Basic " + Base64("$oauthtoken:" + key_)};
    SG_ASSIGN_OR_RETURN(const HttpResponse response, client_.Get(request));
    if (response.status == 401 || response.status == 403) {
      return UserError(fmt::format("NGC does not accept the key in NGC_API_KEY ({}); {}",
                                   response.status, kKeyHelp));
    }
    if (response.status != 200) return HttpStatusError(response);
    SG_ASSIGN_OR_RETURN(const Json answer, ParseJson(response.body, ShownUrl(request.url)));
    token_ = TextAt(answer, {"token"});
    if (token_.empty()) {
      return EnvironmentError(fmt::format("{}: the answer has no token", ShownUrl(request.url)));
    }
    return OkStatus();
  }

  Error Explain(const HttpResponse& response) {
    switch (response.status) {
      case 401:
      case 403:
        return UserError(fmt::format(
            "{}: NGC does not let this user read it ({}); {}{}", snapshot_.id, response.status,
            key_.empty() ? "" : "the key in NGC_API_KEY has no right to it: ", kKeyHelp));
      case 404:
        return NotThere();
      default:
        return HttpStatusError(response);
    }
  }

  /// Tells a wrong version from a wrong model.
  Error NotThere() {
    if (!asked_versions_) {
      const Result<std::vector<std::string>> versions = ListVersions();
      if (versions.ok() && !source_.revision.empty()) {
        return UserError(fmt::format("{}: has no such version; there are: {}", snapshot_.id,
                                     fmt::join(*versions, ", ")));
      }
    }
    return UserError(
        fmt::format("{}: NGC has no such model for this user; check the URL{}", snapshot_.id,
                    key_.empty() ? fmt::format(", and if it is not public {}", kKeyHelp) : ""));
  }

  Result<Json> GetJson(const std::string& url) {
    HttpRequest request;
    request.url = url;
    request.token = token_;
    request.headers = {"Accept: application/json"};
    SG_ASSIGN_OR_RETURN(const HttpResponse response, client_.Get(request));
    if (response.status != 200) return Explain(response);
    return ParseJson(response.body, ShownUrl(url));
  }

  Result<std::vector<std::string>> ListVersions() {
    asked_versions_ = true;
    SG_ASSIGN_OR_RETURN(const Json answer, GetJson(versions_url_));
    std::vector<std::string> versions;
    for (const Json& entry : ListIn(answer, {"modelVersions", "versions"})) {
      const std::string version = TextAt(entry, {"versionId", "version", "id"});
      if (!version.empty()) versions.push_back(version);
    }
    if (versions.empty()) {
      return UserError(fmt::format("{}: NGC lists no version of it", snapshot_.id));
    }
    return versions;
  }

  Status AddFile(const Json& entry) {
    RepositoryFile file;
    file.path =
        entry.is_string() ? entry.get<std::string>() : TextAt(entry, {"path", "name", "fileName"});
    if (!IsInnerPath(file.path)) {
      return EnvironmentError(
          fmt::format("{}: NGC's list of files has an entry that cannot be right: {}", snapshot_.id,
                      ToJsonLine(entry)));
    }
    if (entry.is_object()) {
      for (const char* key : {"sizeInBytes", "size"}) {
        const auto size = entry.find(key);
        if (size != entry.end() && size->is_number_unsigned()) {
          file.size_bytes = size->get<uint64_t>();
          break;
        }
      }
    }
    files_.push_back(std::move(file));
    return OkStatus();
  }

  /// Refused before anything is fetched.
  Status CheckFormats() const {
    bool onnx = false, archive = false, encrypted = false, engine = false;
    for (const RepositoryFile& file : files_) {
      const auto ends = [&](const char* end) { return file.path.ends_with(end); };
      onnx = onnx || ends(".onnx") || ends(".safetensors");
      archive = archive || ends(".zip") || ends(".tar.gz") || ends(".tgz") || ends(".tar");
      encrypted = encrypted || ends(".etlt") || ends(".tlt");
      engine = engine || ends(".engine") || ends(".plan");
    }
    if (onnx || archive) return OkStatus();
    if (encrypted) {
      return UnsupportedError(fmt::format(
          "{}: holds only encrypted TAO weights (.etlt, .tlt), which nothing but TAO can read; "
          "pick a version with an .onnx, or export one with `tao model … export`",
          snapshot_.id));
    }
    if (engine) {
      return UserError(fmt::format(
          "{}: holds only a TensorRT engine, which runs on the machine that built it alone; pick a "
          "version with an .onnx",
          snapshot_.id));
    }
    return OkStatus();
  }

  const ModelSource source_;
  const HubOptions options_;
  const std::string key_;
  std::string token_;
  std::string versions_url_;
  HttpClient client_;
  ModelSnapshot snapshot_;
  std::vector<RepositoryFile> files_;
  bool asked_versions_ = false;
};

}  // namespace

Result<std::unique_ptr<Repository>> OpenNgcRepository(const ModelSource& source,
                                                      const HubOptions& options) {
  auto repository = std::make_unique<NgcRepository>(source, options);
  SG_RETURN_IF_ERROR(repository->Open());
  return std::unique_ptr<Repository>(std::move(repository));
}

}  // namespace sg

#include "hub/hf_repository.h"

#include <fmt/format.h>

#include "base/files.h"
#include "hub/download.h"
#include "hub/http.h"
#include "hub/url.h"

namespace sg {
namespace {

constexpr int kMaxPages = 1000;

std::string StringAt(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

/// The hub's word for the licence: cardData.license (one or a list), else the tag "license:…".
std::string LicenceOf(const Json& model) {
  if (const auto card = model.find("cardData"); card != model.end() && card->is_object()) {
    const auto licence = card->find("license");
    if (licence != card->end()) {
      if (licence->is_string()) {
        const std::string other = StringAt(*card, "license_name");
        return *licence == "other" && !other.empty() ? other : licence->get<std::string>();
      }
      if (licence->is_array() && !licence->empty() && licence->front().is_string()) {
        return licence->front().get<std::string>();
      }
    }
  }
  if (const auto tags = model.find("tags"); tags != model.end() && tags->is_array()) {
    for (const Json& tag : *tags) {
      constexpr std::string_view kPrefix = "license:";
      if (tag.is_string() && tag.get<std::string>().starts_with(kPrefix)) {
        return tag.get<std::string>().substr(kPrefix.size());
      }
    }
  }
  return "";
}

/// `<URL>; rel="next"` of a Link header; empty: the last page.
std::string NextPage(const HttpResponse& response) {
  const std::string text = response.Header("link");
  size_t begin = 0;
  while ((begin = text.find('<', begin)) != std::string::npos) {
    const size_t end = text.find('>', begin);
    if (end == std::string::npos) return "";
    const std::string attributes = text.substr(end, text.find('<', end) - end);
    if (attributes.find("rel=\"next\"") != std::string::npos ||
        attributes.find("rel=next") != std::string::npos) {
      return text.substr(begin + 1, end - begin - 1);
    }
    begin = end;
  }
  return "";
}

class HfRepository : public Repository {
 public:
  HfRepository(const ModelSource& source, HfEnvironment environment, HubOptions options)
      : source_(source),
        environment_(std::move(environment)),
        options_(std::move(options)),
        cache_(environment_.cache_folder, source.org, source.name) {
    const std::string asked = options_.revision.empty() ? source.revision : options_.revision;
    snapshot_.source = source.text;
    snapshot_.kind = SourceKindName(source.kind);
    snapshot_.id = source.org + "/" + source.name;
    snapshot_.name = source.name;
    snapshot_.file = source.file;
    snapshot_.revision = asked.empty() ? "main" : asked;
  }

  Status Open() {
    if (environment_.offline) return OpenFromCache("HF_HUB_OFFLINE is set");
    Status online = OpenFromHub();
    if (online.ok() || online.error().kind != ErrorKind::kEnvironment) return online;
    const Status cached = OpenFromCache(online.error().message);
    return cached.ok() ? cached : online;
  }

  const ModelSnapshot& snapshot() const override { return snapshot_; }
  const std::vector<RepositoryFile>& files() const override { return files_; }

  Status Fetch(const std::vector<std::string>& paths) override {
    std::vector<DownloadFile> downloads;
    std::vector<const RepositoryFile*> links;
    for (const std::string& path : paths) {
      const RepositoryFile* file = Find(path);
      if (file == nullptr) {
        return UserError(fmt::format("{}: has no file {}", Where(), path));
      }
      if (cache_.Has(snapshot_.commit, path)) continue;
      if (offline_) {
        return EnvironmentError(
            fmt::format("{}: {} is not in the cache, and {}", Where(), path, offline_reason_));
      }
      downloads.push_back(ToDownload(*file));
      links.push_back(file);
    }
    if (!downloads.empty()) {
      DownloadOptions download_options;
      download_options.token = environment_.token;
      download_options.explain = [this](const HttpResponse& response) { return Explain(response); };
      download_options.progress = options_.progress;
      SG_RETURN_IF_ERROR(DownloadFiles(&client_, downloads, download_options));
    }
    for (const RepositoryFile* file : links) {
      SG_RETURN_IF_ERROR(cache_.LinkFile(snapshot_.commit, file->path, EtagOf(*file)));
    }
    if (offline_) return OkStatus();
    return cache_.RememberCommit(snapshot_.revision, snapshot_.commit);
  }

 private:
  static std::string EtagOf(const RepositoryFile& file) {
    return file.sha256.empty() ? file.git_sha1 : file.sha256;
  }

  std::string Where() const { return fmt::format("{}@{}", snapshot_.id, snapshot_.revision); }

  DownloadFile ToDownload(const RepositoryFile& file) const {
    DownloadFile download;
    download.url = fmt::format("{}/{}/resolve/{}/{}", environment_.endpoint, snapshot_.id,
                               snapshot_.commit, PercentEncoded(file.path, /*keep_slash=*/true));
    download.path = cache_.BlobPath(EtagOf(file));
    download.size_bytes = file.size_bytes;
    download.sha256 = file.sha256;
    download.git_sha1 = file.sha256.empty() ? file.git_sha1 : "";
    download.lock_path = cache_.LockPath(EtagOf(file));
    return download;
  }

  /// What the hub's refusals mean (x-error-code as in huggingface_hub's utils/_http.py).
  Error Explain(const HttpResponse& response) const {
    const std::string code = response.Header("x-error-code");
    // What lies behind a redirect speaks for itself, not for the hub.
    const Result<Url> from = ParseUrl(response.url);
    const Result<Url> hub = ParseUrl(environment_.endpoint);
    if (code.empty() && from.ok() && hub.ok() && from->Origin() != hub->Origin()) {
      return HttpStatusError(response);
    }
    const bool has_token = !environment_.token.empty();
    const std::string page = environment_.endpoint + "/" + snapshot_.id;
    if (code == "GatedRepo" || (response.status == 403 && code.empty())) {
      return UserError(fmt::format("{}: is gated: accept its terms at {} {}", snapshot_.id, page,
                                   has_token ? "with the account that the token belongs to"
                                             : "and set HF_TOKEN to a token of that account"));
    }
    if (code == "RevisionNotFound" || (response.status == 404 && looked_up_model_)) {
      return UserError(fmt::format("{}: has no branch, tag or commit '{}'; see {}/tree/main",
                                   snapshot_.id, snapshot_.revision, page));
    }
    if (code == "EntryNotFound") {
      return UserError(
          fmt::format("{}: a listed file is gone: {}; try again", Where(), ShownUrl(response.url)));
    }
    // The hub answers 401 for a model that does not exist, so that private names stay private.
    if (response.status == 401 || response.status == 404 || code == "RepoNotFound") {
      return UserError(fmt::format(
          "{}: no such model at {}, and no such local folder; {}", snapshot_.id,
          environment_.endpoint,
          has_token ? "check the spelling, or whether the token (HF_TOKEN or the login file) is "
                      "valid and may read it"
                    : "check the spelling; a private or gated model needs HF_TOKEN"));
    }
    return HttpStatusError(response);
  }

  Result<Json> GetJson(const std::string& url, HttpResponse* response) {
    HttpRequest request;
    request.url = url;
    request.token = environment_.token;
    SG_ASSIGN_OR_RETURN(*response, client_.Get(request));
    if (response->status != 200) return Explain(*response);
    Result<Json> json = ParseJson(response->body, ShownUrl(url));
    if (!json.ok()) {
      return EnvironmentError(fmt::format(
          "{}: the answer is not the hub's API (no JSON); is HF_ENDPOINT right, or is a proxy's "
          "login page in the way?",
          ShownUrl(url)));
    }
    return json;
  }

  Status OpenFromHub() {
    HttpResponse response;
    const std::string api = fmt::format("{}/api/models/{}", environment_.endpoint, snapshot_.id);
    SG_ASSIGN_OR_RETURN(
        const Json model,
        GetJson(fmt::format("{}/revision/{}", api, PercentEncoded(snapshot_.revision)), &response));
    snapshot_.commit = model.is_object() ? StringAt(model, "sha") : "";
    if (!IsCommit(snapshot_.commit)) {
      return EnvironmentError(fmt::format("{}: the hub's answer names no commit", Where()));
    }
    looked_up_model_ = true;
    snapshot_.licence = LicenceOf(model);
    snapshot_.task = StringAt(model, "pipeline_tag");
    snapshot_.folder = cache_.SnapshotFolder(snapshot_.commit);
    return ListFiles(api);
  }

  Status ListFiles(const std::string& api) {
    const std::string folder =
        source_.folder.empty() ? "" : "/" + PercentEncoded(source_.folder, /*keep_slash=*/true);
    std::string url = fmt::format("{}/tree/{}{}?recursive=true", api, snapshot_.commit, folder);
    const Result<Url> endpoint = ParseUrl(environment_.endpoint);
    for (int page = 0; !url.empty(); ++page) {
      const Result<Url> parsed = ParseUrl(url);
      if (page == kMaxPages || !parsed.ok() || !endpoint.ok() ||
          parsed->Origin() != endpoint->Origin()) {
        return EnvironmentError(fmt::format("{}: the hub's list of files does not end", Where()));
      }
      HttpResponse response;
      SG_ASSIGN_OR_RETURN(const Json entries, GetJson(url, &response));
      if (!entries.is_array()) {
        return EnvironmentError(fmt::format("{}: the hub's list of files is no list", Where()));
      }
      for (const Json& entry : entries) SG_RETURN_IF_ERROR(AddFile(entry));
      url = NextPage(response);
      if (url.starts_with('/')) url.insert(0, endpoint->Origin());
    }
    return OkStatus();
  }

  Status AddFile(const Json& entry) {
    if (!entry.is_object() || StringAt(entry, "type") != "file") return OkStatus();
    RepositoryFile file;
    file.path = StringAt(entry, "path");
    file.git_sha1 = StringAt(entry, "oid");
    file.size_bytes = entry.value("size", uint64_t{0});
    if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object()) {
      file.sha256 = StringAt(*lfs, "oid");
      file.size_bytes = lfs->value("size", file.size_bytes);
      file.git_sha1.clear();  // of the pointer, not of the contents
    }
    if (!IsInnerPath(file.path) || !(IsHex(file.sha256, 64) || IsHex(file.git_sha1, 40))) {
      return EnvironmentError(
          fmt::format("{}: the hub's list of files has an entry that cannot be right: {}", Where(),
                      ToJsonLine(entry)));
    }
    files_.push_back(std::move(file));
    return OkStatus();
  }

  Status OpenFromCache(const std::string& reason) {
    offline_ = true;
    offline_reason_ = reason;
    const std::optional<std::string> commit = cache_.CommitOf(snapshot_.revision);
    if (commit) {
      SG_ASSIGN_OR_RETURN(files_, cache_.FilesOf(*commit));
    }
    if (files_.empty()) {
      return EnvironmentError(fmt::format("{}: is not in the cache ({}), and {}", Where(),
                                          environment_.cache_folder, reason));
    }
    snapshot_.commit = *commit;
    snapshot_.folder = cache_.SnapshotFolder(*commit);
    return OkStatus();
  }

  const ModelSource source_;
  const HfEnvironment environment_;
  const HubOptions options_;
  const HfCache cache_;
  HttpClient client_;
  ModelSnapshot snapshot_;
  std::vector<RepositoryFile> files_;
  bool looked_up_model_ = false;
  bool offline_ = false;
  std::string offline_reason_;
};

}  // namespace

Result<std::unique_ptr<Repository>> OpenHfRepository(const ModelSource& source,
                                                     const HfEnvironment& environment,
                                                     const HubOptions& options) {
  auto repository = std::make_unique<HfRepository>(source, environment, options);
  SG_RETURN_IF_ERROR(repository->Open());
  return std::unique_ptr<Repository>(std::move(repository));
}

}  // namespace sg

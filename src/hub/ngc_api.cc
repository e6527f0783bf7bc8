// Addresses and answers as NVIDIA's own scripts and clients use them:
// - a guest's: /v2/models/ORG[/TEAM]/NAME/versions[/VERSION/files[/PATH] or /zip] (DeepStream's
//   skills/deepstream-import-vision-model/scripts/model/ngc-{list-files,download}.sh, and the zip
//   of its samples' download scripts);
// - with a key: /v2/org/ORG[/team/TEAM]/models/NAME/versions/… (ModelAPI of the ngc CLI's Python);
// - lists: {"modelVersions": [{"versionId", "status"}]}, {"modelFiles": [{"path", "sizeInBytes"}]}
//   with "paginationInfo", whose nextPage goes into page-reference (the ngc CLI), or a bare list of
//   {"name"} (ngc-list-files.sh);
// - a legacy key is exchanged at authn.nvidia.com/token?service=ngc&scope=group/ngc:ORG as user
//   "$oauthtoken" (TAO Toolkit's NGC code); a personal key (nvapi-…) is the bearer itself.
#include "hub/ngc_api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/environment.h"
#include "base/files.h"
#include "hub/ngc_source.h"
#include "hub/url.h"

namespace sg {
namespace {

constexpr char kKeyHelp[] =
    "set NGC_API_KEY to a key made at https://org.ngc.nvidia.com/setup/api-keys";
/// A list that goes on longer is a server gone wrong.
constexpr size_t kMaxPages = 1000;
constexpr size_t kMaxEntries = 20000;
constexpr size_t kMaxShownVersions = 30;

std::string TeamAnd(const ModelSource& source, const char* before, const char* after) {
  return source.team.empty() ? "" : before + source.team + after;
}

std::string Base64(const std::string& text) {
  std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  encoded.resize(static_cast<size_t>(length));
  return encoded;
}

/// Without the blanks and line ends that come along when it is pasted or read from a file.
std::string UsersKey() {
  const std::string key = FirstEnvironment({"NGC_API_KEY", "NGC_CLI_API_KEY"});
  constexpr char kBlanks[] = " \t\r\n";
  const size_t begin = key.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return key.substr(begin, key.find_last_not_of(kBlanks) - begin + 1);
}

bool IsRefusal(int status) { return status == 401 || status == 403 || status == 404; }

/// The member, when it is there; null otherwise.
const Json& MemberOf(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto value = object.find(key);
  return value == object.end() ? none : *value;
}

/// The text of the first key that has one.
std::string TextAt(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Json& value = MemberOf(object, key);
    if (value.is_string()) return value.get<std::string>();
  }
  return "";
}

/// What NGC's catalog lets a version be called; anything else in an answer is not shown to a user.
bool IsVersion(const std::string& text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '/';
  });
}

/// Asks for the pages of one list, one after the other.
class Pages {
 public:
  /// Reads the page that just came; false: it was the last one.
  bool Follow(const Json& page) {
    ++number_;
    const Json& info = MemberOf(page, "paginationInfo");
    const std::string next = TextAt(info, {"nextPage"});
    if (!next.empty()) {
      by_reference_ = true;
      query_ = "?page-reference=" + PercentEncoded(next);
      return references_.insert(next).second && number_ < kMaxPages;
    }
    const Json& total = MemberOf(info, "totalPages");
    if (by_reference_ || !total.is_number_unsigned()) return false;
    query_ = fmt::format("?page-number={}", number_);
    return number_ < std::min<uint64_t>(total.get<uint64_t>(), kMaxPages);
  }
  const std::string& query() const { return query_; }

 private:
  std::string query_;
  size_t number_ = 0;
  bool by_reference_ = false;
  std::set<std::string> references_;
};

}  // namespace

NgcApi::NgcApi(ModelSource source)
    : source_(std::move(source)),
      id_(fmt::format("{}/{}{}{}{}", source_.org, TeamAnd(source_, "", "/"), source_.name,
                      source_.revision.empty() ? "" : ":", source_.revision)) {}

std::string NgcApi::ModelUrl() const {
  if (access_ == Access::kKey) {
    return fmt::format("{}/v2/org/{}/{}models/{}", NgcEndpoint(), source_.org,
                       TeamAnd(source_, "team/", "/"), source_.name);
  }
  return fmt::format("{}/v2/models/{}/{}{}", NgcEndpoint(), source_.org, TeamAnd(source_, "", "/"),
                     source_.name);
}

std::string NgcApi::VersionUrl() const {
  return fmt::format("{}/versions/{}", ModelUrl(), PercentEncoded(source_.revision));
}

std::string NgcApi::FileUrl(const std::string& path) const {
  return VersionUrl() + "/files/" + PercentEncoded(path, /*keep_slash=*/true);
}

std::string NgcApi::ArchiveUrl() const { return VersionUrl() + "/zip"; }

Result<std::string> NgcApi::ExchangeKey() {
  const std::string key = UsersKey();
  if (key.starts_with("nvapi-")) return key;
  std::string endpoint = Environment("NGC_AUTH_ENDPOINT");
  if (endpoint.empty()) endpoint = "https://authn.nvidia.com/token";
  const std::string group = "group/ngc:" + source_.org;
  HttpRequest request;
  request.url = fmt::format("{}?service=ngc&scope={}{}", endpoint, group,
                            TeamAnd(source_, ("&scope=" + group + "/").c_str(), ""));
  request.headers = {"Accept: application/json",
                     "Authorization: Basic " + Base64("$oauthtoken:" + key)};
  SG_ASSIGN_OR_RETURN(const HttpResponse response, client_.Get(request));
  if (response.status >= 400 && response.status < 500 && response.status != 429) {
    return UserError(fmt::format("NGC does not accept the key in NGC_API_KEY ({}); {}",
                                 response.status, kKeyHelp));
  }
  if (response.status != 200) return HttpStatusError(response);
  SG_ASSIGN_OR_RETURN(const Json answer, ParseJson(response.body, ShownUrl(request.url)));
  const std::string token = TextAt(answer, {"token"});
  if (token.empty()) {
    return EnvironmentError(fmt::format("{}: the answer has no token", ShownUrl(request.url)));
  }
  return token;
}

Status NgcApi::LogIn() {
  access_ = Access::kGuest;
  const std::string key = UsersKey();
  if (key.empty()) return OkStatus();
  if (std::any_of(key.begin(), key.end(), [](char c) { return c <= ' ' || c >= 0x7f; })) {
    return UserError(
        fmt::format("the key in NGC_API_KEY has a character that no key has; {}", kKeyHelp));
  }
  Result<std::string> token = ExchangeKey();
  if (token.ok()) {
    access_ = Access::kKey;
    token_ = *std::move(token);
  } else if (token.error().kind == ErrorKind::kInterrupted) {
    return token.error();
  } else {
    key_fault_ = token.error();
  }
  return OkStatus();
}

Result<HttpResponse> NgcApi::GetOnce(const std::string& tail) {
  HttpRequest request;
  request.url = ModelUrl() + tail;
  request.token = token_;
  request.headers = {"Accept: application/json"};
  return client_.Get(request);
}

Result<HttpResponse> NgcApi::Get(const std::string& tail) {
  if (access_ == Access::kUnknown) SG_RETURN_IF_ERROR(LogIn());
  SG_ASSIGN_OR_RETURN(const HttpResponse response, GetOnce(tail));
  if (access_ != Access::kKey || !IsRefusal(response.status)) return response;
  const std::string token = std::exchange(token_, "");
  access_ = Access::kGuest;
  Result<HttpResponse> as_guest = GetOnce(tail);
  if (as_guest.ok() && !IsRefusal(as_guest->status)) return as_guest;
  if (!as_guest.ok() && as_guest.error().kind == ErrorKind::kInterrupted) return as_guest.error();
  access_ = Access::kKey;
  token_ = token;
  return response;
}

Result<std::optional<std::vector<Json>>> NgcApi::List(const std::string& tail,
                                                      const std::vector<const char*>& keys) {
  std::vector<Json> entries;
  Pages pages;
  bool more = true;
  while (more) {
    SG_ASSIGN_OR_RETURN(const HttpResponse response, Get(tail + pages.query()));
    if (response.status == 404) return std::optional<std::vector<Json>>();
    if (response.status != 200) return Explain(response);
    SG_ASSIGN_OR_RETURN(const Json page, ParseJson(response.body, ShownUrl(response.url)));
    const Json* list = page.is_array() ? &page : nullptr;
    for (const char* key : keys) {
      if (list == nullptr && MemberOf(page, key).is_array()) list = &MemberOf(page, key);
    }
    if (list != nullptr) entries.insert(entries.end(), list->begin(), list->end());
    if (entries.size() > kMaxEntries) {
      return EnvironmentError(fmt::format("{}: the list has more than {} entries, so it is wrong",
                                          ShownUrl(response.url), kMaxEntries));
    }
    more = pages.Follow(page);
  }
  return std::make_optional(std::move(entries));
}

Result<std::vector<std::string>> NgcApi::ListVersions() {
  SG_ASSIGN_OR_RETURN(const std::optional<std::vector<Json>> entries,
                      List("/versions", {"modelVersions", "versions"}));
  if (!entries) return NoSuchModel();
  std::vector<std::string> versions;
  for (const Json& entry : *entries) {
    const std::string version = entry.is_string() ? entry.get<std::string>()
                                                  : TextAt(entry, {"versionId", "version", "id"});
    const std::string status = TextAt(entry, {"status"});
    if (!IsVersion(version) || (!status.empty() && status != "UPLOAD_COMPLETE")) continue;
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
      versions.push_back(version);
    }
  }
  if (versions.empty()) return UserError(fmt::format("{}: NGC lists no version of it", id_));
  return versions;
}

Result<RepositoryFile> NgcApi::ReadFile(const Json& entry) const {
  RepositoryFile file;
  file.path =
      entry.is_string() ? entry.get<std::string>() : TextAt(entry, {"path", "name", "fileName"});
  if (!IsInnerPath(file.path)) {
    return EnvironmentError(
        fmt::format("{}: NGC's list of its files has an entry that cannot be right: {}", id_,
                    ToJsonLine(entry)));
  }
  for (const char* key : {"sizeInBytes", "size"}) {
    const Json& size = MemberOf(entry, key);
    if (file.size_bytes == 0 && size.is_number_unsigned()) file.size_bytes = size;
  }
  return file;
}

Result<std::vector<RepositoryFile>> NgcApi::ListFiles() {
  SG_ASSIGN_OR_RETURN(const std::optional<std::vector<Json>> entries,
                      List(fmt::format("/versions/{}/files", PercentEncoded(source_.revision)),
                           {"modelFiles", "files", "recipeFiles"}));
  if (!entries) {
    SG_ASSIGN_OR_RETURN(const std::vector<std::string> versions, ListVersions());
    const auto version = std::find(versions.begin(), versions.end(), source_.revision);
    if (version != versions.end()) return std::vector<RepositoryFile>();
    return UserError(
        fmt::format("{}: has no such version; there are: {}", id_, NgcVersionsText(versions)));
  }
  std::map<std::string, RepositoryFile> files;
  for (const Json& entry : *entries) {
    SG_ASSIGN_OR_RETURN(RepositoryFile file, ReadFile(entry));
    const auto [known, is_new] = files.try_emplace(file.path, file);
    if (!is_new && known->second.size_bytes != file.size_bytes) {
      return EnvironmentError(
          fmt::format("{}: NGC lists {} twice, with two sizes", id_, file.path));
    }
  }
  std::vector<RepositoryFile> sorted;
  sorted.reserve(files.size());
  for (auto& [path, file] : files) sorted.push_back(std::move(file));
  return sorted;
}

Error NgcApi::Refusal(int status) const {
  if (key_fault_) return *key_fault_;
  if (access_ == Access::kGuest) {
    return UserError(
        fmt::format("{}: NGC does not let a guest read it ({}); {}", id_, status, kKeyHelp));
  }
  return UserError(
      fmt::format("{}: NGC does not let the user of NGC_API_KEY read it ({}); the key needs the "
                  "right to NGC's catalog, in an organisation that has the model: {}",
                  id_, status, kKeyHelp));
}

Error NgcApi::NoSuchModel() const {
  if (key_fault_) return *key_fault_;
  return UserError(fmt::format(
      "{}: NGC has no such model for this user; check the URL{}", id_,
      access_ == Access::kGuest ? fmt::format(", and if it is not public {}", kKeyHelp) : ""));
}

Error NgcApi::Explain(const HttpResponse& response) const {
  if (response.status == 401 || response.status == 403) return Refusal(response.status);
  if (response.status == 404) {
    return UserError(fmt::format("{}: NGC does not have {} (404)", id_, ShownUrl(response.url)));
  }
  return HttpStatusError(response);
}

std::string NgcVersionsText(const std::vector<std::string>& versions) {
  const size_t shown = std::min(versions.size(), kMaxShownVersions);
  const std::vector<std::string> first(versions.begin(),
                                       versions.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format(
      "{}{}", fmt::join(first, ", "),
      shown < versions.size() ? fmt::format(" and {} more", versions.size() - shown) : "");
}

}  // namespace sg

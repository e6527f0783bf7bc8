// NGC's registry, asked about one model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "hub/http.h"
#include "hub/repository.h"
#include "hub/source.h"

namespace sg {

/// Asks with the user's key (NGC_API_KEY or NGC_CLI_API_KEY) when there is one, and as a guest
/// where the key does not help: a public model needs none. One thread.
class NgcApi {
 public:
  /// `source` names a model, and a version for all but ListVersions().
  explicit NgcApi(ModelSource source);

  /// Published versions, as NGC orders them. kUser when the model is not there or not this user's.
  Result<std::vector<std::string>> ListVersions();
  /// Files of the version, by path; none when NGC lists none, so that its archive is what there is.
  /// kUser when the model or the version is not there (the message lists the versions) or not this
  /// user's, kEnvironment for an answer that cannot be right.
  Result<std::vector<RepositoryFile>> ListFiles();

  std::string FileUrl(const std::string& path) const;
  /// The whole version as a zip.
  std::string ArchiveUrl() const;
  /// The user's words for a download that failed.
  Error Explain(const HttpResponse& response) const;

  /// "org/team/name:version".
  const std::string& id() const { return id_; }
  /// For downloads: as HttpRequest::token. Empty for a guest.
  const std::string& token() const { return token_; }
  HttpClient* client() { return &client_; }

 private:
  enum class Access { kUnknown, kKey, kGuest };

  std::string ModelUrl() const;
  std::string VersionUrl() const;
  Status LogIn();
  Result<std::string> ExchangeKey();
  /// `tail` follows the model's address.
  Result<HttpResponse> Get(const std::string& tail);
  Result<HttpResponse> GetOnce(const std::string& tail);
  /// All pages of a list, which lies under one of `keys` or is the answer itself; nothing for 404.
  Result<std::optional<std::vector<Json>>> List(const std::string& tail,
                                                const std::vector<const char*>& keys);
  Result<RepositoryFile> ReadFile(const Json& entry) const;
  Error Refusal(int status) const;
  Error NoSuchModel() const;

  const ModelSource source_;
  const std::string id_;
  HttpClient client_;
  Access access_ = Access::kUnknown;
  std::string token_;
  std::optional<Error> key_fault_;  ///< why the key did not help, once it is known
};

/// "v1.0, v2.0", and how many more there are after thirty.
std::string NgcVersionsText(const std::vector<std::string>& versions);

}  // namespace sg

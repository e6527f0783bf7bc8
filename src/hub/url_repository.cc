#include "hub/url_repository.h"

#include <fmt/format.h>

#include <charconv>

#include "base/environment.h"
#include "base/files.h"
#include "hub/archive.h"
#include "hub/archive_repository.h"
#include "hub/download.h"
#include "hub/http.h"
#include "hub/local_repository.h"
#include "hub/url.h"

namespace sg {
namespace {

/// `filename=` of Content-Disposition, without folders; empty: none.
std::string OfferedName(const HttpResponse& response) {
  const std::string header = response.Header("content-disposition");
  size_t begin = header.find("filename=");
  if (begin == std::string::npos) return "";
  begin += std::string_view("filename=").size();
  const bool quoted = begin < header.size() && header[begin] == '"';
  if (quoted) ++begin;
  const size_t end = header.find(quoted ? '"' : ';', begin);
  return BaseName(header.substr(begin, end == std::string::npos ? end : end - begin));
}

std::string LastPart(const std::string& url_text) {
  const Result<Url> url = ParseUrl(url_text);
  return url.ok() ? BaseName(PercentDecoded(url->path)) : "";
}

bool IsUsable(const std::string& name) { return name.ends_with(".onnx") || IsArchiveName(name); }

struct RemoteFile {
  std::string name;
  std::optional<uint64_t> size_bytes;
  std::string version;  ///< changes when the file does, as far as the server tells
};

Result<RemoteFile> LookAt(HttpClient* client, const ModelSource& source) {
  HttpRequest request;
  request.url = source.url;
  request.head = true;
  SG_ASSIGN_OR_RETURN(const HttpResponse response, client->Get(request));
  const bool answered = response.status >= 200 && response.status < 300;
  // Some servers have no HEAD (405, 501); signed links answer 403 to it. The download tells then.
  const bool no_head = response.status == 405 || response.status == 501 || response.status == 403;
  if (!answered && !no_head) return HttpStatusError(response);
  RemoteFile file;
  for (const std::string& name :
       {LastPart(source.url), answered ? OfferedName(response) : "", LastPart(response.url)}) {
    if (file.name.empty() && IsUsable(name)) file.name = name;
  }
  if (file.name.empty()) {
    return UserError(fmt::format(
        "{}: is neither an .onnx nor a .zip, .tar or .tar.gz by its name{}", ShownUrl(source.url),
        response.Header("content-type").starts_with("text/html")
            ? " and the server says that it is a web page; give the link of the file itself"
            : ""));
  }
  if (!answered) return file;
  const std::string length = response.Header("content-length");
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), size);
  if (error == std::errc() && end == length.data() + length.size()) file.size_bytes = size;
  file.version = response.Header("etag") + response.Header("last-modified") + length;
  return file;
}

}  // namespace

Result<std::unique_ptr<Repository>> OpenUrlRepository(const ModelSource& source,
                                                      const HubOptions& options) {
  HttpClient client;
  SG_ASSIGN_OR_RETURN(const RemoteFile remote, LookAt(&client, source));
  const std::string key = Sha256(source.url + "\n" + remote.version).substr(0, 16);
  const std::string folder = UserCacheFolder() + "/url/" + key;
  DownloadFile file;
  file.url = source.url;
  file.path = JoinPath(folder, remote.name);
  file.size_bytes = remote.size_bytes;
  DownloadOptions download_options;
  download_options.progress = options.progress;
  SG_RETURN_IF_ERROR(DownloadFiles(&client, {file}, download_options));

  ModelSnapshot snapshot;
  snapshot.source = ShownUrl(source.text);
  snapshot.kind = SourceKindName(source.kind);
  snapshot.id = ShownUrl(source.url);
  snapshot.name = remote.name.substr(0, remote.name.find('.'));
  if (IsArchiveName(remote.name)) {
    return OpenArchiveRepository(std::move(snapshot), file.path, options.staging_folder);
  }
  snapshot.folder = folder;
  snapshot.file = remote.name;
  return OpenFolderRepository(std::move(snapshot));
}

}  // namespace sg

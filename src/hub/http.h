// HTTP for the hub, over libcurl: retries, redirects that never carry a token to another host, and
// one plain message for each way a request can fail.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct HttpRequest {
  std::string url;  ///< http, https; file only where the caller allows it
  /// Sent as "Authorization: Bearer …" to the origin (scheme, host, port) of `url` alone; a
  /// redirect to another origin goes without it. Never appears in an Error or a log line.
  std::string token;
  std::vector<std::string> headers;  ///< "Name: value", sent to the origin of `url` alone, too
  bool head = false;                 ///< HEAD: the headers alone
  uint64_t max_body_bytes = uint64_t{64} << 20;  ///< a longer body is a kUser error
};

struct HttpResponse {
  int status = 0;
  std::string url;                             ///< the last one, after redirects
  std::map<std::string, std::string> headers;  ///< names in lower case; of the last response
  std::string body;

  /// Empty when there is none. `name` in lower case.
  std::string Header(const std::string& name) const;
};

/// The words for a response that is not a success: 401, 403, 404, 429, 5xx and the rest, naming the
/// URL (without query) and what to do. A hub may know better and pass its own in the requests.
Error HttpStatusError(const HttpResponse& response);

/// A connection pool: requests to one host reuse its connections. One thread at a time.
class HttpClient {
 public:
  /// How patient it is. The defaults fit people; tests make them short.
  struct Patience {
    int retries = 5;          ///< after the first try; 429, 5xx and broken connections
    double first_wait_s = 1;  ///< doubled each time, with jitter; Retry-After wins (≤ 120 s)
    double silence_s = 30;    ///< no byte for so long ends the try
    double connect_s = 15;
  };
  HttpClient();
  explicit HttpClient(const Patience& patience);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// GET with retries. Any status but 429 and 5xx is a response, not an Error; after the last retry
  /// so are these. kEnvironment for DNS, connection, TLS and proxy failures (each its own message);
  /// kInterrupted on Ctrl-C, also while it waits.
  Result<HttpResponse> Get(const HttpRequest& request);

  struct Impl;
  Impl* impl() { return impl_.get(); }  ///< for download.cc

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sg

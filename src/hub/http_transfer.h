// The pieces of libcurl that http.cc and download.cc share. Not for others.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hub/http.h"

namespace sg {

/// One request to one address; what a redirect changes.
struct Hop {
  std::string url;
  std::string token;
  std::vector<std::string> headers;
  bool head = false;
};

/// One libcurl transfer of a Hop. Move nothing: libcurl keeps pointers into it.
class Transfer {
 public:
  Transfer(const Hop& hop, const HttpClient::Patience& patience);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// `take` gets the body as it comes; false ends the transfer.
  void OnBodyBytes(std::function<bool(const char*, size_t)> take) { on_body_ = std::move(take); }

  CURL* handle() { return handle_.get(); }
  /// Status and headers so far; complete once body bytes come.
  const HttpResponse& Response();
  /// Where a redirect leads, made absolute; nullopt when it is none.
  std::optional<std::string> RedirectTarget();
  /// libcurl's own words on a failure; may be empty.
  const char* details() const { return error_; }

 private:
  struct FreeHandle {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  };
  struct FreeHeaders {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  void AddHeader(const std::string& header);
  static size_t OnHeader(char* bytes, size_t size, size_t count, void* self);
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);

  std::unique_ptr<curl_slist, FreeHeaders> headers_;
  std::function<bool(const char*, size_t)> on_body_;
  HttpResponse response_;
  char error_[CURL_ERROR_SIZE] = "";
  std::unique_ptr<CURL, FreeHandle> handle_;
};

/// Follows redirects so that a token stays with its origin.
class Redirects {
 public:
  /// `kept_headers` go to every origin (Range, If-Range); hop.headers to the first alone.
  Redirects(Hop hop, std::vector<std::string> kept_headers)
      : hop_(std::move(hop)), kept_headers_(std::move(kept_headers)) {}
  const Hop& hop() const { return hop_; }
  /// kEnvironment for a loop, a step from https to http, an address that is neither.
  Status Follow(const std::string& target);

 private:
  Hop hop_;
  std::vector<std::string> kept_headers_;
  int count_ = 0;
};

/// True for the statuses that another try may not have: 429 and 5xx but 501.
bool IsWorthRetrying(int status);

/// How long to wait before each retry.
class BackOff {
 public:
  explicit BackOff(const HttpClient::Patience& patience);
  /// Seconds; nullopt: give up. `response` may carry Retry-After.
  std::optional<double> Next(const HttpResponse* response);

 private:
  int left_;
  double wait_s_;
};

/// False when Ctrl-C came.
bool WaitUnlessInterrupted(double seconds);
/// True for the failures of a connection that another try may not have.
bool IsTransient(int curl_code);
/// The user's words for a libcurl failure.
Error TransferError(int curl_code, const char* details, const std::string& url);

struct HttpClient::Impl {
  struct FreeMulti {
    void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
  };
  Patience patience;
  std::unique_ptr<CURLM, FreeMulti> multi;  ///< its connections outlive the transfers

  /// Runs one transfer to its end and returns libcurl's code.
  int Run(Transfer* transfer);

  /// Walks from the first address through its redirects to an answer, and again from there while
  /// patience lasts. `begin` gets each transfer before it runs, to take its body from nothing;
  /// where it ends a body early, that answer is the one. Any status can come back, after the last
  /// try 429 and 5xx, too. Errors as HttpClient::Get.
  struct Walk {
    Hop first;
    std::vector<std::string> kept_headers;  ///< as Redirects
    std::function<void(Transfer*)> begin;
  };
  struct Walked {
    HttpResponse response;  ///< without its body
    Hop hop;                ///< where it came from
  };
  Result<Walked> Follow(const Walk& walk);
};

}  // namespace sg

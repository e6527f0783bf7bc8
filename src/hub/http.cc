#include "hub/http.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/environment.h"
#include "base/interrupt.h"
#include "hub/http_transfer.h"
#include "hub/url.h"

namespace sg {
namespace {

constexpr int kMaxRedirects = 10;
constexpr double kLongestWaitS = 120;

void InitialiseCurlOnce() {
  static const bool done = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  SG_CHECK(done);
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Seconds of a Retry-After header: a number, or a date. Negative: there is none.
double RetryAfterSeconds(const HttpResponse& response) {
  const auto header = response.headers.find("retry-after");
  if (header == response.headers.end()) return -1;
  char* end = nullptr;
  const double seconds = std::strtod(header->second.c_str(), &end);
  if (end != header->second.c_str() && *end == '\0') return std::max(0.0, seconds);
  const time_t date = curl_getdate(header->second.c_str(), nullptr);
  if (date < 0) return -1;
  return std::max(0.0, std::difftime(date, std::time(nullptr)));
}

}  // namespace

std::string HttpResponse::Header(const std::string& name) const {
  const auto header = headers.find(name);
  return header == headers.end() ? "" : header->second;
}

Error HttpStatusError(const HttpResponse& response) {
  const std::string url = ShownUrl(response.url);
  switch (response.status) {
    case 401:
      return UserError(fmt::format("{}: needs a login (401); set the token of its site", url));
    case 403:
      return UserError(
          fmt::format("{}: this user may not read it (403); check the token and its rights", url));
    case 404:
    case 410:
      return UserError(
          fmt::format("{}: is not there ({}); check the spelling", url, response.status));
    case 407:
      return EnvironmentError(fmt::format(
          "{}: the proxy wants a login (407); put it into https_proxy=http://USER:PASSWORD@HOST",
          url));
    case 429: {
      const double wait_s = RetryAfterSeconds(response);
      return EnvironmentError(
          fmt::format("{}: the server allows no more requests for now (429){}", url,
                      wait_s > 0 ? fmt::format("; it says to try again in {:.0f} s", wait_s)
                                 : "; try again later"));
    }
    default:
      if (response.status >= 500) {
        return EnvironmentError(fmt::format(
            "{}: the server has a fault of its own ({}); try again later", url, response.status));
      }
      return UserError(fmt::format("{}: the server answered {}", url, response.status));
  }
}

Error TransferError(int curl_code, const char* details, const std::string& url_text) {
  const std::string url = ShownUrl(url_text);
  const Result<Url> parsed = ParseUrl(url_text);
  const std::string host = parsed.ok() ? parsed->host : url;
  const std::string why = *details != '\0' ? details : curl_easy_strerror(CURLcode(curl_code));
  switch (curl_code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return EnvironmentError(fmt::format(
          "{}: the name {} cannot be resolved (DNS); is the network up, is a proxy needed?", url,
          host));
    case CURLE_COULDNT_RESOLVE_PROXY:
      return EnvironmentError(fmt::format(
          "{}: the name of the proxy cannot be resolved; check http_proxy and https_proxy", url));
    case CURLE_COULDNT_CONNECT:
      return EnvironmentError(fmt::format("{}: no connection to {}: {}", url, host, why));
    case CURLE_PROXY:
      return EnvironmentError(fmt::format("{}: the proxy refuses: {}", url, why));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
      return EnvironmentError(fmt::format(
          "{}: no secure connection (TLS): {}; a company's own certificate can be named with "
          "SSL_CERT_FILE",
          url, why));
    case CURLE_OPERATION_TIMEDOUT:
      return EnvironmentError(
          fmt::format("{}: the server went silent: {}; try again later", url, why));
    case CURLE_UNSUPPORTED_PROTOCOL:
      return UserError(fmt::format("{}: is not http or https", url));
    default:
      return EnvironmentError(fmt::format("{}: the connection broke: {}", url, why));
  }
}

Transfer::Transfer(const Hop& hop, const HttpClient::Patience& patience) {
  handle_.reset(curl_easy_init());
  SG_CHECK(handle_ != nullptr);
  CURL* curl = handle_.get();
  curl_easy_setopt(curl, CURLOPT_URL, hop.url.c_str());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 512L * 1024);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, std::lround(patience.connect_s * 1000));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, std::max(1L, std::lround(patience.silence_s)));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "streamgauge");
  const std::string bundle =
      FirstEnvironment({"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"});
  if (!bundle.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, bundle.c_str());
  }
  if (hop.head) curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  for (const std::string& header : hop.headers) AddHeader(header);
  if (!hop.token.empty()) AddHeader("Authorization: Bearer " + hop.token);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
}

void Transfer::AddHeader(const std::string& header) {
  curl_slist* longer = curl_slist_append(headers_.get(), header.c_str());
  SG_CHECK(longer != nullptr);
  static_cast<void>(headers_.release());  // now part of `longer`
  headers_.reset(longer);
}

size_t Transfer::OnHeader(char* bytes, size_t size, size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const std::string line(bytes, size * count);
  if (line.starts_with("HTTP/")) transfer->response_.headers.clear();  // after a 100 or a proxy's
  const size_t colon = line.find(':');
  if (colon == std::string::npos) return size * count;
  std::string name = line.substr(0, colon);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const size_t begin = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
  const size_t end = line.find_last_not_of(" \t\r\n") + 1;
  if (begin < end) transfer->response_.headers[name] = line.substr(begin, end - begin);
  return size * count;
}

size_t Transfer::OnBody(char* bytes, size_t size, size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const bool taken = transfer->on_body_ && transfer->on_body_(bytes, size * count);
  return taken ? size * count : CURL_WRITEFUNC_ERROR;
}

const HttpResponse& Transfer::Response() {
  long status = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  const char* url = nullptr;
  curl_easy_getinfo(handle_.get(), CURLINFO_EFFECTIVE_URL, &url);
  if (url != nullptr) response_.url = url;
  return response_;
}

std::optional<std::string> Transfer::RedirectTarget() {
  if (!IsRedirect(Response().status)) return std::nullopt;
  const char* url = nullptr;
  curl_easy_getinfo(handle_.get(), CURLINFO_REDIRECT_URL, &url);
  return url == nullptr ? std::nullopt : std::optional<std::string>(url);
}

Status Redirects::Follow(const std::string& target) {
  const Result<Url> from = ParseUrl(hop_.url);
  const Result<Url> to = ParseUrl(target);
  if (!from.ok() || !to.ok() || (to->scheme != "http" && to->scheme != "https")) {
    return EnvironmentError(fmt::format("{}: is redirected to {}, which is no http(s) address",
                                        ShownUrl(hop_.url), ShownUrl(target)));
  }
  if (from->scheme == "https" && to->scheme == "http") {
    return EnvironmentError(
        fmt::format("{}: is redirected from https to {}, which is not secure; not followed",
                    ShownUrl(hop_.url), ShownUrl(target)));
  }
  if (++count_ > kMaxRedirects) {
    return EnvironmentError(fmt::format("{}: is redirected more than {} times, last to {}",
                                        ShownUrl(hop_.url), kMaxRedirects, ShownUrl(target)));
  }
  if (from->Origin() != to->Origin()) {
    hop_.token.clear();
    hop_.headers = kept_headers_;
  }
  hop_.url = target;
  return OkStatus();
}

bool IsWorthRetrying(int status) { return status == 429 || (status >= 500 && status != 501); }

BackOff::BackOff(const HttpClient::Patience& patience)
    : left_(patience.retries), wait_s_(patience.first_wait_s) {}

std::optional<double> BackOff::Next(const HttpResponse* response) {
  if (left_-- <= 0) return std::nullopt;
  static thread_local std::minstd_rand random{std::random_device{}()};
  const double jitter = std::uniform_real_distribution<double>(0.75, 1.25)(random);
  const double own_s = wait_s_ * jitter;
  wait_s_ = std::min(wait_s_ * 2, kLongestWaitS);
  const double asked_s = response == nullptr ? -1 : RetryAfterSeconds(*response);
  if (asked_s > kLongestWaitS) return std::nullopt;  // nobody waits that long; said in the error
  return asked_s >= 0 ? asked_s : own_s;
}

bool WaitUnlessInterrupted(double seconds) {
  pollfd interrupt{InterruptDescriptor(), POLLIN, 0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!Interrupted()) {
    const double left_ms =
        std::chrono::duration<double, std::milli>(end - std::chrono::steady_clock::now()).count();
    if (left_ms <= 0) return true;
    poll(&interrupt, 1, static_cast<int>(std::min(left_ms + 1, 1000.0)));
  }
  return false;
}

bool IsTransient(int curl_code) {
  switch (curl_code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WEIRD_SERVER_REPLY:
      return true;
    default:
      return false;
  }
}

HttpClient::HttpClient() : HttpClient(Patience{}) {}

HttpClient::HttpClient(const Patience& patience) : impl_(std::make_unique<Impl>()) {
  InitialiseCurlOnce();
  impl_->patience = patience;
  impl_->multi.reset(curl_multi_init());
  SG_CHECK(impl_->multi != nullptr);
  curl_multi_setopt(impl_->multi.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
}

HttpClient::~HttpClient() = default;

int HttpClient::Impl::Run(Transfer* transfer) {
  curl_multi_add_handle(multi.get(), transfer->handle());
  int code = CURLE_ABORTED_BY_CALLBACK;
  for (int running = 1; running > 0 && !Interrupted();) {
    curl_multi_perform(multi.get(), &running);
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &queued)) {
      if (message->msg == CURLMSG_DONE) code = message->data.result;
    }
    if (running > 0) curl_multi_poll(multi.get(), nullptr, 0, 100, nullptr);
  }
  curl_multi_remove_handle(multi.get(), transfer->handle());
  return code;
}

Result<HttpClient::Impl::Walked> HttpClient::Impl::Follow(const Walk& walk) {
  BackOff back_off(patience);
  Redirects redirects(walk.first, walk.kept_headers);
  while (true) {
    if (Interrupted()) return InterruptedError();
    Transfer transfer(redirects.hop(), patience);
    walk.begin(&transfer);
    const int code = Run(&transfer);
    if (Interrupted()) return InterruptedError();
    const bool answered = code == CURLE_OK;
    const auto target = answered ? transfer.RedirectTarget() : std::nullopt;
    if (target) {
      SG_RETURN_IF_ERROR(redirects.Follow(*target));
      continue;
    }
    const HttpResponse& response = transfer.Response();
    const bool retry = answered ? IsWorthRetrying(response.status) : IsTransient(code);
    const auto wait_s = retry ? back_off.Next(answered ? &response : nullptr) : std::nullopt;
    if (!wait_s) {
      if (answered || code == CURLE_WRITE_ERROR) return Walked{response, redirects.hop()};
      return TransferError(code, transfer.details(), redirects.hop().url);
    }
    if (!WaitUnlessInterrupted(*wait_s)) return InterruptedError();
    redirects = Redirects(walk.first, walk.kept_headers);  // signed links run out
  }
}

Result<HttpResponse> HttpClient::Get(const HttpRequest& request) {
  std::string body;
  bool too_long = false;
  const auto begin = [&](Transfer* transfer) {
    body.clear();
    transfer->OnBodyBytes([&](const char* bytes, size_t size) {
      too_long = body.size() + size > request.max_body_bytes;
      if (!too_long) body.append(bytes, size);
      return !too_long;
    });
  };
  const Hop first{request.url, request.token, request.headers, request.head};
  SG_ASSIGN_OR_RETURN(Impl::Walked walked, impl_->Follow({first, {}, begin}));
  if (too_long) {
    return UserError(fmt::format("{}: the answer is longer than {} bytes", ShownUrl(request.url),
                                 request.max_body_bytes));
  }
  walked.response.body = std::move(body);
  return std::move(walked.response);
}

}  // namespace sg

#include "hub/http.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/files.h"
#include "base/testing.h"
#include "hub/download.h"
#include "hub/scripted_server.h"

namespace sg {
namespace {

using Call = ScriptedServer::Call;
using Connection = ScriptedServer::Connection;

HttpClient::Patience Short() {
  HttpClient::Patience patience;
  patience.retries = 2;
  patience.first_wait_s = 0.01;
  patience.silence_s = 2;
  patience.connect_s = 2;
  return patience;
}

Result<HttpResponse> Get(const std::string& url, const std::string& token = "") {
  HttpClient client(Short());
  HttpRequest request;
  request.url = url;
  request.token = token;
  if (!token.empty()) request.headers = {"X-Key: also secret"};
  return client.Get(request);
}

/// The file's bytes, or why there are none. Files of a known small size come plainly, others are
/// looked at first.
std::string Download(const std::string& url, std::optional<uint64_t> size_bytes,
                     const std::string& token = "") {
  const TempFolder folder;
  HttpClient client(Short());
  DownloadFile file;
  file.url = url;
  file.path = folder / "file.onnx";
  file.size_bytes = size_bytes;
  DownloadOptions options;
  options.token = token;
  if (!token.empty()) options.headers = {"X-Key: also secret"};
  const Status status = DownloadFiles(&client, {file}, options);
  if (!status.ok()) {
    EXPECT_FALSE(FileExists(file.path));
    return status.error().message;
  }
  EXPECT_FALSE(FileExists(file.path + ".part"));
  EXPECT_FALSE(FileExists(file.path + ".part.state"));
  return *ReadFile(file.path);
}

/// Two origins: /around leads from the first to the second and back, /within stays.
class TwoOrigins : public testing::Test {
 protected:
  /// Answers like a server with ranges, of one byte at a time when `range` says so.
  static void Body(const Call& call, Connection* c) {
    const std::string body = "home";
    if (call.Header("Range") == "bytes=0-0") {
      c->Answer("206 Partial Content", "Content-Range: bytes 0-0/4\r\n", body.substr(0, 1));
    } else if (!call.Header("Range").empty()) {
      c->Answer("206 Partial Content", "Content-Range: bytes 0-3/4\r\n", body);
    } else {
      c->Answer("200 OK", "", body);
    }
  }
  static void Redirect(Connection* c, const std::string& to) {
    c->Answer("302 Found", "Location: " + to + "\r\n", "moved");
  }

  ScriptedServer other_{[this](const Call& call, Connection* c) {
    if (call.path == "/back") return Redirect(c, server_.Url("/steal"));
    Body(call, c);
  }};
  ScriptedServer server_{[this](const Call& call, Connection* c) {
    if (call.path == "/away") return Redirect(c, other_.Url("/x"));
    if (call.path == "/around") return Redirect(c, other_.Url("/back"));
    if (call.path == "/within") return Redirect(c, "/here");
    Body(call, c);
  }};

  void ExpectTokenStayed() {
    EXPECT_FALSE(other_.calls().empty());
    for (const Call& call : other_.calls()) {
      EXPECT_EQ(call.Header("Authorization"), "") << call.path;
      EXPECT_EQ(call.Header("X-Key"), "") << call.path;
    }
    for (const Call& call : server_.calls()) {
      const bool is_first = call.path != "/steal";
      EXPECT_EQ(call.Header("Authorization"), is_first ? "Bearer tok" : "") << call.path;
      EXPECT_EQ(call.Header("X-Key"), is_first ? "also secret" : "") << call.path;
    }
  }
};

TEST_F(TwoOrigins, ATokenThatWasLeftBehindIsNotSentAgain) {
  for (const char* path : {"/away", "/around", "/within"}) {
    EXPECT_EQ(Get(server_.Url(path), "tok")->body, "home") << path;
  }
  ExpectTokenStayed();
}

TEST_F(TwoOrigins, ADownloadsTokenIsNotSentAgain) {
  for (const char* path : {"/away", "/around", "/within"}) {
    EXPECT_EQ(Download(server_.Url(path), 4, "tok"), "home") << path << " plainly";
    EXPECT_EQ(Download(server_.Url(path), std::nullopt, "tok"), "home") << path << " in ranges";
  }
  ExpectTokenStayed();
}

TEST(Http, ATryStartsFromTheFirstAddressAndFromNothing) {
  // Signed links run out: the second try asks for a new one. Half a body is no beginning.
  std::atomic<int> links = 0;
  ScriptedServer server([&](const Call& call, Connection* c) {
    if (call.path == "/file") {
      return c->Answer("302 Found", "Location: /link" + std::to_string(++links) + "\r\n", "");
    }
    if (call.path != "/link1") return c->Answer("200 OK", "", "whole");
    c->Send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwh");
    c->Close();
  });
  EXPECT_EQ(Get(server.Url("/file"))->body, "whole");
  links = 0;
  EXPECT_EQ(Download(server.Url("/file"), 5), "whole");
}

TEST(Http, OnlyWhatMayPassIsTriedAgain) {
  std::string status;
  ScriptedServer server([&](const Call&, Connection* c) { c->Answer(status, "", "no"); });
  const auto tries = [&](const std::string& line, auto&& ask) {
    status = line;
    const size_t before = server.calls().size();
    ask();
    return server.calls().size() - before;
  };
  const auto get = [&] { EXPECT_TRUE(Get(server.Url("/")).ok()); };
  const auto plain = [&] { EXPECT_NE(Download(server.Url("/"), 2), "no"); };
  const auto look = [&] { EXPECT_NE(Download(server.Url("/"), std::nullopt), "no"); };
  for (const char* line : {"501 Not Implemented", "404 Not Found", "403 Forbidden"}) {
    EXPECT_EQ(tries(line, get), 1u) << line;
    EXPECT_EQ(tries(line, plain), 1u) << line;
    EXPECT_EQ(tries(line, look), 1u) << line;
  }
  for (const char* line : {"503 Service Unavailable", "429 Too Many Requests", "500 Error"}) {
    EXPECT_EQ(tries(line, get), 3u) << line;
    EXPECT_EQ(tries(line, plain), 3u) << line;
    EXPECT_EQ(tries(line, look), 3u) << line;
  }
}

TEST(Http, RedirectsThatDoNotEndAreSaid) {
  ScriptedServer server(
      [](const Call&, Connection* c) { c->Answer("302 Found", "Location: /again\r\n", ""); });
  const auto got = Get(server.Url("/"));
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().message.find("more than 10 times"), std::string::npos);
  EXPECT_NE(Download(server.Url("/"), 2).find("more than 10 times"), std::string::npos);
  EXPECT_NE(Download(server.Url("/"), std::nullopt).find("more than 10 times"), std::string::npos);
}

TEST(Http, BodiesAreWholeOrRefused) {
  std::string body;
  ScriptedServer server([&](const Call&, Connection* c) { c->Answer("200 OK", "", body); });
  EXPECT_EQ(Download(server.Url("/"), 0), "");
  EXPECT_EQ(Download(server.Url("/"), std::nullopt), "") << "an empty file without ranges";
  body = "longer";
  EXPECT_EQ(Download(server.Url("/"), std::nullopt), "longer") << "without ranges";
  EXPECT_NE(Download(server.Url("/"), 3).find("where 3 were announced"), std::string::npos);
  EXPECT_NE(Download(server.Url("/"), 9).find("where 9 were announced"), std::string::npos);
  HttpClient client(Short());
  HttpRequest request;
  request.url = server.Url("/");
  request.max_body_bytes = 5;
  const auto got = client.Get(request);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kUser);
  EXPECT_NE(got.error().message.find("longer than 5 bytes"), std::string::npos);
}

}  // namespace
}  // namespace sg

// What the command line does not show of NGC's repositories; tests/ngc_test.py has the rest.
#include "hub/ngc.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/testing.h"

namespace sg {
namespace {

/// Answers GET from a map of path → body on a port of its own; anything else is 404.
class CannedServer {
 public:
  explicit CannedServer(std::map<std::string, std::string> bodies) : bodies_(std::move(bodies)) {
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { Serve(); });
  }
  ~CannedServer() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  void Serve() {
    while (true) {
      const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      Answer(connection);
      close(connection);
    }
  }

  void Answer(int connection) const {
    std::string request;
    char block[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t n = recv(connection, block, sizeof(block), 0);
      if (n <= 0) return;
      request.append(block, static_cast<size_t>(n));
    }
    const size_t begin = request.find(' ') + 1;
    const auto body = bodies_.find(request.substr(begin, request.find(' ', begin) - begin));
    const bool is_there = body != bodies_.end();
    const std::string text = is_there ? body->second : "{}";
    const std::string answer =
        std::string("HTTP/1.1 ") + (is_there ? "200 OK" : "404 Not Found") +
        "\r\nConnection: close\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" +
        text;
    for (size_t sent = 0; sent < answer.size();) {
      const ssize_t n = send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<size_t>(n);
    }
  }

  const std::map<std::string, std::string> bodies_;
  int socket_ = -1;
  std::string url_;
  std::thread thread_;
};

std::string FilesPath(const std::string& version) {
  return "/v2/models/nvidia/tao/net/versions/" + version + "/files";
}

class Ngc : public testing::Test {
 protected:
  Ngc()
      : server_({{FilesPath("v1"), R"({"modelFiles":[{"path":"net.onnx","sizeInBytes":3}]})"},
                 {FilesPath("v2"), R"({"modelFiles":[{"path":"net.onnx","sizeInBytes":3}]})"},
                 {FilesPath("v1") + "/net.onnx", "one"},
                 {FilesPath("v2") + "/net.onnx", "two"}}) {
    setenv("NGC_ENDPOINT", server_.url().c_str(), 1);
    for (const char* name : {"NGC_API_KEY", "NGC_CLI_API_KEY", "NGC_CLI_API_URL"}) unsetenv(name);
    options_.staging_folder = folder_ / "ngc_download";
  }
  ~Ngc() override { unsetenv("NGC_ENDPOINT"); }

  std::unique_ptr<Repository> Open(const std::string& version) {
    ModelSource source;
    source.kind = SourceKind::kNgc;
    source.text = "https://catalog.ngc.nvidia.com/" + version;
    source.org = "nvidia";
    source.team = "tao";
    source.name = "net";
    source.revision = version;
    Result<std::unique_ptr<Repository>> repository = OpenNgcRepository(source, options_);
    EXPECT_TRUE(repository.ok()) << repository.error().message;
    return repository.ok() ? *std::move(repository) : nullptr;
  }

  std::string Fetched(const std::string& version) {
    const std::unique_ptr<Repository> repository = Open(version);
    const Status fetched = repository->Fetch({"net.onnx"});
    EXPECT_TRUE(fetched.ok()) << fetched.error().message;
    const Result<std::string> bytes = ReadFile(JoinPath(repository->snapshot().folder, "net.onnx"));
    return bytes.ok() ? *bytes : "";
  }

  CannedServer server_;
  TempFolder folder_;
  HubOptions options_;
};

TEST_F(Ngc, VersionsInOneFolderAreNotMixedUp) {
  EXPECT_EQ(Fetched("v1"), "one");
  EXPECT_EQ(Fetched("v2"), "two");
  EXPECT_EQ(Fetched("v1"), "one");
}

TEST_F(Ngc, ASnapshotSaysWhatItIs) {
  const std::unique_ptr<Repository> repository = Open("v1");
  const ModelSnapshot& snapshot = repository->snapshot();
  EXPECT_EQ(snapshot.kind, "NGC");
  EXPECT_EQ(snapshot.id, "nvidia/tao/net:v1");
  EXPECT_EQ(snapshot.name, "net");
  EXPECT_EQ(snapshot.revision, "v1");
  EXPECT_EQ(snapshot.commit, "v1");
  EXPECT_TRUE(snapshot.folder.starts_with(options_.staging_folder + "/"));
  ASSERT_EQ(repository->files().size(), 1u);
  EXPECT_EQ(repository->files()[0].size_bytes, 3u);
}

TEST_F(Ngc, AFileThatIsNotListedIsNotFetched) {
  const Status fetched = Open("v1")->Fetch({"../net.onnx"});
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().kind, ErrorKind::kUser);
}

TEST_F(Ngc, AFileThatNgcListsAndDoesNotHaveIsNamed) {
  const CannedServer server(
      {{FilesPath("v1"), R"({"modelFiles":[{"path":"gone.onnx","sizeInBytes":3}]})"}});
  setenv("NGC_ENDPOINT", server.url().c_str(), 1);
  const Status fetched = Open("v1")->Fetch({"gone.onnx"});
  ASSERT_FALSE(fetched.ok());
  EXPECT_NE(fetched.error().message.find("gone.onnx"), std::string::npos)
      << fetched.error().message;
}

}  // namespace
}  // namespace sg

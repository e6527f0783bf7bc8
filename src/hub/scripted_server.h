// An HTTP server for tests that sends exactly the bytes it is told to. Not part of any library.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace sg {

class ScriptedServer {
 public:
  struct Call {
    int number = 0;  ///< 0 for the server's first
    std::string head;
    std::string path;
    int connection = 0;
    /// The header's value; empty when it was not sent. `name` as the client writes it.
    std::string Header(const std::string& name) const {
      const size_t at = head.find("\r\n" + name + ": ");
      if (at == std::string::npos) return "";
      const size_t begin = at + name.size() + 4;
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
  };
  class Connection {
   public:
    explicit Connection(int fd) : fd_(fd) {}
    void Send(const std::string& bytes) {
      for (size_t sent = 0; sent < bytes.size();) {
        const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return;
        sent += static_cast<size_t>(n);
      }
    }
    /// Sends a whole answer with its length.
    void Answer(const std::string& status, const std::string& headers, const std::string& body) {
      Send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           headers + "\r\n" + body);
    }
    /// Ends the connection after this call.
    void Close() { closed_ = true; }
    /// Says nothing until the client has gone.
    void Stall() {
      char byte;
      while (::recv(fd_, &byte, 1, 0) > 0) {
      }
      closed_ = true;
    }
    bool closed() const { return closed_; }

   private:
    const int fd_;
    bool closed_ = false;
  };
  /// Called for each request, on its connection's thread.
  using Handler = std::function<void(const Call&, Connection*)>;

  explicit ScriptedServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SG_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    SG_CHECK(::listen(listener_, 64) == 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const int fd : connections_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    for (const int fd : connections_) ::close(fd);
    ::close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string Url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int port() const { return port_; }
  std::vector<Call> calls() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }

 private:
  void Accept() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard<std::mutex> lock(mutex_);
      connections_.push_back(fd);
      const int number = static_cast<int>(connections_.size());
      threads_.emplace_back([this, fd, number] { Serve(fd, number); });
    }
  }
  void Serve(int fd, int number) {
    Connection connection(fd);
    std::string text;
    while (!connection.closed()) {
      size_t end;
      while ((end = text.find("\r\n\r\n")) == std::string::npos) {
        char bytes[4096];
        const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
        if (n <= 0) return;
        text.append(bytes, static_cast<size_t>(n));
      }
      Call call;
      call.head = text.substr(0, end + 2);
      text.erase(0, end + 4);
      const size_t path = call.head.find(' ') + 1;
      call.path = call.head.substr(path, call.head.find(' ', path) - path);
      call.connection = number;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        call.number = static_cast<int>(calls_.size());
        calls_.push_back(call);
      }
      handler_(call, &connection);
    }
    ::shutdown(fd, SHUT_RDWR);
  }

  const Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Call> calls_;
  std::vector<int> connections_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace sg

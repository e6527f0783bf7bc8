#include "base/files.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

namespace sg {
namespace fs = std::filesystem;
namespace {

std::string Errno() { return std::strerror(errno); }

/// Closes a file descriptor at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

constexpr size_t kBlockBytes = 1 << 20;

/// Calls `consume` with each block of the file.
Status ForEachBlock(const std::string& path,
                    const std::function<Status(const char*, size_t)>& consume) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return UserError(path + ": no such file");
    return EnvironmentError(path + ": cannot be read: " + Errno());
  }
  std::string block(kBlockBytes, '\0');
  while (true) {
    const ssize_t n = ::read(file.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EISDIR) return UserError(path + ": is a folder, not a file");
    if (n < 0) return EnvironmentError(path + ": cannot be read: " + Errno());
    if (n == 0) return OkStatus();
    SG_RETURN_IF_ERROR(consume(block.data(), static_cast<size_t>(n)));
  }
}

/// Runs `fill` on a new file beside `path` and renames it over `path` when all went well.
Status ReplaceFile(const std::string& path, const std::function<Status(int fd)>& fill) {
  std::string part = path + ".part.XXXXXX";
  Descriptor file(::mkostemp(part.data(), O_CLOEXEC));
  if (file.get() < 0) return EnvironmentError(path + ": cannot be written: " + Errno());
  Status status = fill(file.get());
  if (status.ok() && (::fsync(file.get()) != 0 || ::fchmod(file.get(), 0644) != 0 ||
                      ::rename(part.c_str(), path.c_str()) != 0))
    status = EnvironmentError(path + ": cannot be written: " + Errno());
  if (!status.ok()) ::unlink(part.c_str());
  return status;
}

Status WriteAll(int fd, const char* bytes, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t n = ::write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return EnvironmentError(path + ": cannot be written: " + Errno());
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return OkStatus();
}

/// Incremental SHA-256.
class Sha256Digest {
 public:
  Sha256Digest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    SG_CHECK(context_ != nullptr);
    SG_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void Add(const char* bytes, size_t size) {
    SG_CHECK(EVP_DigestUpdate(context_.get(), bytes, size) == 1);
  }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    SG_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
      hex += kDigits[digest[i] >> 4];
      hex += kDigits[digest[i] & 15];
    }
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  std::string bytes;
  SG_RETURN_IF_ERROR(ForEachBlock(path, [&](const char* block, size_t size) {
    bytes.append(block, size);
    return OkStatus();
  }));
  return bytes;
}

Status WriteFileAtomic(const std::string& path, const std::string& bytes) {
  return ReplaceFile(path, [&](int fd) { return WriteAll(fd, bytes.data(), bytes.size(), path); });
}

Status CopyFileAtomic(const std::string& from, const std::string& to) {
  return ReplaceFile(to, [&](int fd) {
    return ForEachBlock(
        from, [&](const char* block, size_t size) { return WriteAll(fd, block, size, to); });
  });
}

Status RenameFile(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) return EnvironmentError(from + ": cannot be moved to " + to + ": " + error.message());
  return OkStatus();
}

Status MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return EnvironmentError(path + ": folder cannot be created: " + error.message());
  return OkStatus();
}

Status RemoveAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return EnvironmentError(path + ": cannot be removed: " + error.message());
  return OkStatus();
}

bool FileExists(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool FolderExists(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Result<uint64_t> FileSize(const std::string& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error) return UserError(path + ": " + error.message());
  return size;
}

Result<std::string> Sha256File(const std::string& path) {
  Sha256Digest digest;
  SG_RETURN_IF_ERROR(ForEachBlock(path, [&](const char* block, size_t size) {
    digest.Add(block, size);
    return OkStatus();
  }));
  return digest.Hex();
}

std::string Sha256(std::string_view bytes) {
  Sha256Digest digest;
  digest.Add(bytes.data(), bytes.size());
  return digest.Hex();
}

Status CheckWritable(const std::string& folder, uint64_t need_bytes) {
  fs::path existing = fs::absolute(folder);
  std::error_code error;
  while (!fs::exists(existing, error) && existing.has_relative_path())
    existing = existing.parent_path();
  if (!fs::is_directory(existing, error))
    return EnvironmentError(existing.string() +
                            ": is not a folder, so nothing can be written below it");
  // access() says yes to root on a read-only mount; only a real write tells.
  std::string probe = (existing / ".streamgauge.XXXXXX").string();
  Descriptor file(::mkostemp(probe.data(), O_CLOEXEC));
  if (file.get() < 0)
    return EnvironmentError(existing.string() + ": cannot be written: " + Errno() +
                            "; choose another folder with --out");
  const std::string block(4096, '\0');
  const Status written = WriteAll(file.get(), block.data(), block.size(), existing.string());
  ::unlink(probe.c_str());
  struct statvfs space {};
  const uint64_t free_bytes =
      ::statvfs(existing.c_str(), &space) == 0 ? uint64_t{space.f_bavail} * space.f_frsize : 0;
  if (!written.ok() || free_bytes < need_bytes)
    return EnvironmentError(existing.string() + ": " + std::to_string(free_bytes >> 20) +
                            " MiB free, " + std::to_string((need_bytes >> 20) + 1) +
                            " MiB needed; free some space or choose another folder with --out");
  return OkStatus();
}

Result<std::vector<std::string>> ListFolder(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  if (error) return UserError(path + ": cannot be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool IsInnerPath(const std::string& path) {
  if (path.find('\\') != std::string::npos || path.find('\0') != std::string::npos) return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string JoinPath(const std::string& a, const std::string& b) {
  return (fs::path(a) / b).string();
}

std::string ParentFolder(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string BaseName(const std::string& path) {
  fs::path p(path);
  if (!p.has_filename()) p = p.parent_path();
  return p.filename().string();
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(path, error);
  return error ? fs::absolute(path).string() : resolved.string();
}

std::string ProgramFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string PluginFolder() {
  return AbsolutePath(JoinPath(ProgramFolder(), "../lib/gstreamer-1.0"));
}

}  // namespace sg

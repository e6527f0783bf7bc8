#include "pipeline/file_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "pipeline/mp4_atoms.h"

namespace sg {
namespace {

constexpr size_t kFirstBytes = 1024;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  size_t ReadAt(uint64_t offset, void* to, size_t size) const {
    size_t got = 0;
    while (got < size) {
      const ssize_t n =
          ::pread(fd_, static_cast<char*>(to) + got, size - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      got += static_cast<size_t>(n);
    }
    return got;
  }

 private:
  const int fd_;
};

uint32_t LittleEndian32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// RIFF: "RIFF", the size of what follows, "AVI ". Writers that stream leave the size 0.
std::string AviComplaint(const std::string& first, uint64_t file_bytes) {
  if (first.size() < 12 || first.compare(0, 4, "RIFF") != 0 || first.compare(8, 4, "AVI ") != 0)
    return {};
  const uint64_t expected = uint64_t{LittleEndian32(first, 4)} + 8;
  if (expected <= 8 || expected <= file_bytes) return {};
  return "is cut off: " + std::to_string(file_bytes) + " of " + std::to_string(expected) +
         " bytes are there";
}

}  // namespace

std::string TextComplaint(const std::string& first_bytes) {
  size_t at = first_bytes.compare(0, 3, "\xef\xbb\xbf") == 0 ? 3 : 0;
  while (at < first_bytes.size() && std::isspace(static_cast<unsigned char>(first_bytes[at]))) ++at;
  std::string start = first_bytes.substr(at, 16);
  for (char& c : start)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const char* opening : {"<!doctype", "<html", "<head", "<body"})
    if (start.rfind(opening, 0) == 0)
      return "is a web page, not a video; was the download link a page?";
  const bool is_text = std::all_of(first_bytes.begin(), first_bytes.end(), [](unsigned char c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
  return is_text && !first_bytes.empty() ? "is a text file, not a video" : "";
}

Status CheckVideoFile(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return UserError(path + ": no such file");
    return EnvironmentError(path + ": cannot be read: " + std::strerror(errno));
  }
  if (S_ISDIR(facts.st_mode)) return UserError(path + ": is a folder, not a video file");
  if (!S_ISREG(facts.st_mode)) return UserError(path + ": is not a regular file");
  if (facts.st_size == 0) return UserError(path + ": is empty (0 bytes)");
  const OpenFile file(path);
  if (!file.ok()) return EnvironmentError(path + ": cannot be read: " + std::strerror(errno));

  const auto file_bytes = static_cast<uint64_t>(facts.st_size);
  std::string first(kFirstBytes, '\0');
  first.resize(file.ReadAt(0, first.data(), first.size()));
  std::string complaint = TextComplaint(first);
  if (complaint.empty()) complaint = AviComplaint(first, file_bytes);
  const ReadAtFn read_at = [&](uint64_t offset, void* to, size_t size) {
    return file.ReadAt(offset, to, size);
  };
  if (complaint.empty() && LooksLikeMp4(file_bytes, read_at))
    complaint = Mp4Complaint(ReadMp4Outline(file_bytes, read_at), file_bytes);
  if (!complaint.empty()) return UserError(path + ": " + complaint);
  return OkStatus();
}

}  // namespace sg

#include "base/samples_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>

namespace sg {
namespace {

constexpr std::chrono::milliseconds kWriteEvery{200};
/// Frames of one interval at several thousand fps, so that AddFrame does not allocate.
constexpr size_t kReservedFrames = 4096;

void Append(const FrameSample& s, std::string* text) {
  fmt::format_to(std::back_inserter(*text), "[{},{},{},{},{}]\n", s.stream, s.frame, s.capture_ns,
                 s.arrival_ns, s.boxes);
}

void Append(const SecondSample& s, std::string* text) {
  const auto out = std::back_inserter(*text);
  fmt::format_to(out, "{{\"time_ns\":{},\"cpu_s\":{:.6f},\"rss_bytes\":{}", s.time_ns, s.cpu_s,
                 s.rss_bytes);
  for (const auto& [name, member] : kOptionalSecondFields)
    if (const std::optional<double>& value = s.*member; value)
      fmt::format_to(out, ",\"{}\":{:.10g}", name, *value);
  fmt::format_to(out, "}}\n");
}

}  // namespace

Result<std::unique_ptr<SamplesWriter>> SamplesWriter::Open(const std::string& path,
                                                           const Json& header) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return EnvironmentError(path + ": cannot be written: " + std::strerror(errno));
  std::unique_ptr<SamplesWriter> writer(new SamplesWriter(path, fd));
  Json line = {{"format", kSamplesFormat}, {"version", kSamplesVersion}};
  line.update(header);
  writer->Write(ToJsonLine(line) + "\n");
  if (!writer->ok()) return EnvironmentError(writer->error_);
  writer->thread_ = std::thread(&SamplesWriter::Run, writer.get());
  return writer;
}

SamplesWriter::SamplesWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {
  frames_.reserve(kReservedFrames);
}

SamplesWriter::~SamplesWriter() {
  Stop();
  ::close(fd_);
}

void SamplesWriter::AddFrame(const FrameSample& sample) {
  const std::lock_guard<std::mutex> lock(mutex_);
  frames_.push_back(sample);
}

void SamplesWriter::AddSecond(const SecondSample& sample) {
  const std::lock_guard<std::mutex> lock(mutex_);
  seconds_.push_back(sample);
}

bool SamplesWriter::ok() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_.empty();
}

Status SamplesWriter::Close(const std::string& ended_by) {
  Stop();
  Write(ToJsonLine({{"ended_by", ended_by}}) + "\n");
  if (!error_.empty()) return EnvironmentError(error_);
  return OkStatus();
}

void SamplesWriter::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SamplesWriter::Run() {
  std::vector<FrameSample> frames;
  std::vector<SecondSample> seconds;
  frames.reserve(kReservedFrames);
  std::string text;
  for (bool stopping = false; !stopping;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait_for(lock, kWriteEvery, [this] { return stopping_; });
      stopping = stopping_;
      frames.swap(frames_);
      seconds.swap(seconds_);
    }
    text.clear();
    for (const FrameSample& sample : frames) Append(sample, &text);
    for (const SecondSample& sample : seconds) Append(sample, &text);
    frames.clear();
    seconds.clear();
    Write(text);
  }
}

void SamplesWriter::Write(const std::string& text) {
  const char* bytes = text.data();
  for (size_t left = ok() ? text.size() : 0; left > 0;) {
    const ssize_t n = ::write(fd_, bytes, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::lock_guard<std::mutex> lock(mutex_);
      error_ = path_ + ": cannot be written: " + std::strerror(errno);
      return;
    }
    bytes += n;
    left -= static_cast<size_t>(n);
  }
}

}  // namespace sg

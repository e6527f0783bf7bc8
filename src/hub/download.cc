// How one file comes: the whole body of one answer when it is small or the server knows no ranges,
// else segments of pieces over several connections. Both end in the same check of size and hash.
#include "hub/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>

#include "base/files.h"
#include "base/interrupt.h"
#include "hub/hash_follower.h"
#include "hub/http_transfer.h"
#include "hub/part_file.h"
#include "hub/url.h"

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;

/// Up to here one plain request is quicker than asking for ranges, and little is lost by a cut.
constexpr uint64_t kPlainBytes = uint64_t{4} << 20;
/// From here on several connections pay.
constexpr uint64_t kParallelBytes = uint64_t{16} << 20;
/// One request's worth: long enough that its round trip does not count.
constexpr size_t kSegmentPieces = 64;

double Megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

/// Bytes of all files together, and how fast they come.
class Meter {
 public:
  Meter(uint64_t total_bytes, const DownloadOptions& options)
      : total_bytes_(total_bytes), options_(options) {}

  /// The files before this one.
  void SetBase(uint64_t bytes) { base_ = bytes; }
  void Update(uint64_t bytes_of_file) {
    if (!options_.progress) return;
    const Clock::time_point now = Clock::now();
    const uint64_t bytes = base_ + bytes_of_file;
    if (history_.empty() || now - history_.back().first > std::chrono::milliseconds(250)) {
      history_.emplace_back(now, bytes);
      if (history_.size() > 20) history_.pop_front();
    }
    const auto& [since, before] = history_.front();
    const double seconds = std::chrono::duration<double>(now - since).count();
    const double speed = seconds > 0.2 && bytes > before ? Megabytes(bytes - before) / seconds : 0;
    const double fraction =
        total_bytes_ > 0 ? static_cast<double>(bytes) / static_cast<double>(total_bytes_) : 0;
    options_.progress(std::min(fraction, 1.0),
                      fmt::format("{:.1f} of {:.1f} MB, {:.1f} MB/s", Megabytes(bytes),
                                  Megabytes(std::max(total_bytes_, bytes)), speed));
  }
  void Say(const std::string& note) {
    if (options_.progress) options_.progress(0, note);
  }

 private:
  const uint64_t total_bytes_;
  const DownloadOptions& options_;
  uint64_t base_ = 0;
  std::deque<std::pair<Clock::time_point, uint64_t>> history_;
};

/// Holds flock() on a file of its own.
class Lock {
 public:
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }
  Status Take(const std::string& path, Meter* meter) {
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(path)));
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664);
    if (fd_ < 0) {
      return EnvironmentError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    }
    while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == ENOLCK || errno == ENOTSUP) return OkStatus();  // the rename keeps it whole
      meter->Say("another process is fetching this file; waiting for it");
      if (!WaitUnlessInterrupted(0.2)) return InterruptedError();
    }
    return OkStatus();
  }

 private:
  int fd_ = -1;
};

std::optional<uint64_t> NumberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool IsSuccess(int status) { return status >= 200 && status < 300; }

/// What the server says of the file before its bytes come.
struct Remote {
  Hop hop;              ///< the address behind the redirects
  bool ranges = false;  ///< it answers ranges, so `size_bytes` is known
  uint64_t size_bytes = 0;
  std::string validator;  ///< a strong ETag or Last-Modified; empty: none
};

/// One file on its way.
class FileDownload {
 public:
  FileDownload(HttpClient::Impl* http, const DownloadFile& file, const DownloadOptions& options,
               Meter* meter)
      : http_(http), file_(file), options_(options), meter_(meter) {}

  Status Run() {
    const Status first = Try();
    if (first.ok() || !is_corrupt_) return first;
    // Once more from nothing: what was resumed may have been damaged by a crash of the machine.
    PartFile::Discard(file_.path);
    is_corrupt_ = false;
    return Try();
  }

 private:
  Status Try() {
    if (file_.size_bytes && *file_.size_bytes <= kPlainBytes) return FetchPlain();
    SG_ASSIGN_OR_RETURN(const Remote remote, LookAt());
    if (!remote.ranges) return FetchPlain();
    if (file_.size_bytes && *file_.size_bytes != remote.size_bytes) {
      return WrongSize(remote.size_bytes);
    }
    return FetchRanges(remote);
  }

  // --- what both ways share ---

  Hop FirstHop(std::vector<std::string> more_headers) const {
    Hop hop{file_.url, options_.token, options_.headers, false};
    hop.headers.push_back("Accept-Encoding: identity");
    for (std::string& header : more_headers) hop.headers.push_back(std::move(header));
    return hop;
  }

  Error Refused(const HttpResponse& response) const {
    return options_.explain ? options_.explain(response) : HttpStatusError(response);
  }

  Error WrongSize(uint64_t got) {
    is_corrupt_ = true;
    return EnvironmentError(
        fmt::format("{}: has {} bytes where {} were announced; try again, or tell its owner",
                    ShownUrl(file_.url), got, *file_.size_bytes));
  }

  /// A login page instead of the file is the commonest wrong answer.
  Status CheckContent(const HttpResponse& response) const {
    const bool wants_page = file_.path.ends_with(".html") || file_.path.ends_with(".htm");
    if (wants_page || !response.Header("content-type").starts_with("text/html") ||
        !file_.sha256.empty() || !file_.git_sha1.empty()) {
      return OkStatus();
    }
    return UserError(fmt::format(
        "{}: the server sent a web page instead of the file (a login page?); give the link of the "
        "file itself",
        ShownUrl(file_.url)));
  }

  std::unique_ptr<HashFollower> StartHash(const PartFile& part) const {
    if (!file_.sha256.empty()) {
      return std::make_unique<HashFollower>(HashKind::kSha256, part.descriptor(), "");
    }
    if (!file_.git_sha1.empty()) {
      const std::string header = fmt::format("blob {}", part.size_bytes()) + std::string(1, '\0');
      return std::make_unique<HashFollower>(HashKind::kSha1, part.descriptor(), header);
    }
    return nullptr;
  }

  Status Finish(PartFile* part, HashFollower* hash) {
    if (hash != nullptr) {
      hash->Advance(part->size_bytes());
      const std::string got = hash->Finish();
      const std::string& want = file_.sha256.empty() ? file_.git_sha1 : file_.sha256;
      if (got != want) {
        is_corrupt_ = true;
        PartFile::Discard(file_.path);
        return EnvironmentError(fmt::format(
            "{}: arrived damaged: its {} is {}, {} was announced; try again, or tell its owner",
            ShownUrl(file_.url), file_.sha256.empty() ? "git SHA-1" : "SHA-256", got, want));
      }
    }
    return part->Finish();
  }

  // --- a first look ---

  /// Asks for one byte: shows the redirects, the size, and whether ranges are answered.
  Result<Remote> LookAt() {
    const std::string range = "Range: bytes=0-0";
    const auto begin = [](Transfer* transfer) {
      transfer->OnBodyBytes([transfer](const char*, size_t) {
        const int status = transfer->Response().status;
        // The whole file starts to come: it is asked for properly later.
        return !IsSuccess(status) || status == 206;
      });
    };
    SG_ASSIGN_OR_RETURN(
        const HttpClient::Impl::Walked walked,
        http_->Follow({FirstHop({range}), {range, "Accept-Encoding: identity"}, begin}));
    if (!IsSuccess(walked.response.status) && walked.response.status != 416) {
      return Refused(walked.response);
    }
    SG_RETURN_IF_ERROR(CheckContent(walked.response));
    return ReadRemote(walked.response, walked.hop);
  }

  static Remote ReadRemote(const HttpResponse& response, const Hop& hop) {
    Remote remote;
    remote.hop = hop;
    std::erase_if(remote.hop.headers,
                  [](const std::string& header) { return header.starts_with("Range:"); });
    const std::string content_range = response.Header("content-range");
    const size_t slash = content_range.rfind('/');
    if (response.status == 206 && slash != std::string::npos) {
      if (const auto total = NumberIn(std::string_view(content_range).substr(slash + 1))) {
        remote.ranges = true;
        remote.size_bytes = *total;
      }
    }
    const std::string etag = response.Header("etag");
    remote.validator =
        etag.empty() || etag.starts_with("W/") ? response.Header("last-modified") : etag;
    return remote;
  }

  // --- one plain answer ---

  Status FetchPlain() {
    std::optional<PlainSink> sink;
    const auto begin = [&](Transfer* transfer) {
      sink.emplace(this);
      transfer->OnBodyBytes([&sink, transfer](const char* bytes, size_t size) {
        return sink->Take(transfer->Response(), bytes, size);
      });
    };
    SG_ASSIGN_OR_RETURN(const HttpClient::Impl::Walked walked,
                        http_->Follow({FirstHop({}), {"Accept-Encoding: identity"}, begin}));
    SG_RETURN_IF_ERROR(sink->status);
    if (!IsSuccess(walked.response.status)) return Refused(walked.response);
    SG_RETURN_IF_ERROR(sink->OpenPart());  // an empty file has no body bytes
    const uint64_t received = sink->part->size_bytes();
    if (file_.size_bytes && received != *file_.size_bytes) {
      PartFile::Discard(file_.path);
      return WrongSize(received);
    }
    const std::unique_ptr<HashFollower> hash = StartHash(*sink->part);
    return Finish(sink->part.get(), hash.get());
  }

  /// Writes a body as it comes.
  struct PlainSink {
    explicit PlainSink(FileDownload* download) : owner(download) {}

    bool Take(const HttpResponse& response, const char* bytes, size_t size) {
      if (!IsSuccess(response.status)) return true;  // an error's words
      status = Append(response, bytes, size);
      return status.ok();
    }
    Status OpenPart() {
      if (part != nullptr) return OkStatus();
      SG_ASSIGN_OR_RETURN(part, PartFile::OpenAnew(owner->file_.path));
      return OkStatus();
    }
    Status Append(const HttpResponse& response, const char* bytes, size_t size) {
      if (part == nullptr) SG_RETURN_IF_ERROR(owner->CheckContent(response));
      SG_RETURN_IF_ERROR(OpenPart());
      const uint64_t received = part->size_bytes() + size;
      if (owner->file_.size_bytes && received > *owner->file_.size_bytes) {
        return owner->WrongSize(received);
      }
      SG_RETURN_IF_ERROR(part->Append(bytes, size));
      owner->meter_->Update(received);
      return OkStatus();
    }

    FileDownload* const owner;
    std::unique_ptr<PartFile> part;
    Status status;
  };

  // --- segments over several connections ---

  struct Segment {
    size_t piece = 0;       ///< the one under way
    size_t end_piece = 0;   ///< one past the last
    uint64_t position = 0;  ///< of the next byte
    Status failure;         ///< of the disk
    bool changed = false;   ///< the server sent something else than the range
    std::unique_ptr<Transfer> transfer;
  };

  Status FetchRanges(const Remote& remote) {
    const std::string& hash_name = file_.sha256.empty() ? file_.git_sha1 : file_.sha256;
    SG_ASSIGN_OR_RETURN(
        const std::unique_ptr<PartFile> part,
        PartFile::Open(file_.path, remote.size_bytes,
                       hash_name.empty() ? file_.url + " " + remote.validator : hash_name));
    const std::unique_ptr<HashFollower> hash = StartHash(*part);
    SG_RETURN_IF_ERROR(FetchPieces(remote, part.get(), hash.get()));
    return Finish(part.get(), hash.get());
  }

  Status FetchPieces(Remote remote, PartFile* part, HashFollower* hash) {
    BackOff back_off(http_->patience);
    std::vector<bool> taken(part->pieces());
    for (size_t i = 0; i < taken.size(); ++i) taken[i] = part->IsDone(i);
    const size_t connections = remote.size_bytes >= kParallelBytes
                                   ? static_cast<size_t>(std::max(1, options_.connections))
                                   : 1;
    std::vector<std::unique_ptr<Segment>> active;
    const ActiveGuard guard(http_, &active);
    while (!part->IsWhole()) {
      while (active.size() < connections) {
        std::unique_ptr<Segment> segment = NextSegment(&taken);
        if (segment == nullptr) break;
        Start(remote, part, segment.get());
        active.push_back(std::move(segment));
      }
      const uint64_t before = part->bytes_done();
      const int running = Perform();
      if (Interrupted()) return InterruptedError();
      meter_->Update(part->bytes_done());
      if (hash != nullptr && part->bytes_done() != before) hash->Advance(part->Frontier());
      if (part->bytes_done() != before) back_off = BackOff(http_->patience);
      SG_RETURN_IF_ERROR(CollectFinished(&remote, &active, &taken, &back_off));
      if (running > 0) curl_multi_poll(http_->multi.get(), nullptr, 0, 100, nullptr);
    }
    return OkStatus();
  }

  /// Takes transfers that are still under way off the connections when the fetch ends early.
  struct ActiveGuard {
    ActiveGuard(HttpClient::Impl* client, std::vector<std::unique_ptr<Segment>>* segments)
        : http(client), active(segments) {}
    ~ActiveGuard() {
      for (const auto& segment : *active)
        curl_multi_remove_handle(http->multi.get(), segment->transfer->handle());
    }
    ActiveGuard(const ActiveGuard&) = delete;
    ActiveGuard& operator=(const ActiveGuard&) = delete;
    HttpClient::Impl* const http;
    std::vector<std::unique_ptr<Segment>>* const active;
  };

  /// The next run of missing pieces, marked as taken; null when there is none.
  static std::unique_ptr<Segment> NextSegment(std::vector<bool>* taken) {
    const auto first = std::find(taken->begin(), taken->end(), false);
    if (first == taken->end()) return nullptr;
    auto segment = std::make_unique<Segment>();
    segment->piece = static_cast<size_t>(first - taken->begin());
    segment->end_piece = segment->piece;
    while (segment->end_piece < taken->size() && !(*taken)[segment->end_piece] &&
           segment->end_piece - segment->piece < kSegmentPieces) {
      (*taken)[segment->end_piece++] = true;
    }
    segment->position = segment->piece * PartFile::kPieceBytes;
    return segment;
  }

  void Start(const Remote& remote, PartFile* part, Segment* segment) {
    Hop hop = remote.hop;
    hop.headers.push_back(fmt::format("Range: bytes={}-{}", segment->position,
                                      part->EndOf(segment->end_piece - 1) - 1));
    // Without a hash only the server's word tells that the file is still the same.
    if (file_.sha256.empty() && file_.git_sha1.empty() && !remote.validator.empty()) {
      hop.headers.push_back("If-Range: " + remote.validator);
    }
    segment->transfer = std::make_unique<Transfer>(hop, http_->patience);
    segment->transfer->OnBodyBytes([part, segment](const char* bytes, size_t size) {
      return TakeBytes(part, segment, bytes, size);
    });
    curl_easy_setopt(segment->transfer->handle(), CURLOPT_PRIVATE, segment);
    curl_multi_add_handle(http_->multi.get(), segment->transfer->handle());
  }

  static bool TakeBytes(PartFile* part, Segment* segment, const char* bytes, size_t size) {
    const int status = segment->transfer->Response().status;
    if (status != 206) {
      segment->changed = IsSuccess(status);
      return !segment->changed;  // an error's words pass by
    }
    while (size > 0) {
      if (segment->piece == segment->end_piece) {
        segment->changed = true;  // more than was asked for
        return false;
      }
      const uint64_t end = part->EndOf(segment->piece);
      const size_t taken = std::min<uint64_t>(size, end - segment->position);
      segment->failure = part->Write(segment->position, bytes, taken);
      if (!segment->failure.ok()) return false;
      segment->position += taken;
      bytes += taken;
      size -= taken;
      if (segment->position == end) {
        segment->failure = part->MarkDone(segment->piece++);
        if (!segment->failure.ok()) return false;
      }
    }
    return true;
  }

  int Perform() {
    int running = 0;
    curl_multi_perform(http_->multi.get(), &running);
    return running;
  }

  /// Takes ended segments off; what they did not finish is there for the taking again.
  Status CollectFinished(Remote* remote, std::vector<std::unique_ptr<Segment>>* active,
                         std::vector<bool>* taken, BackOff* back_off) {
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(http_->multi.get(), &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      const int code = message->data.result;
      const auto ended =
          std::find_if(active->begin(), active->end(), [&](const std::unique_ptr<Segment>& one) {
            return one->transfer->handle() == message->easy_handle;
          });
      SG_CHECK(ended != active->end());
      curl_multi_remove_handle(http_->multi.get(), message->easy_handle);
      const std::unique_ptr<Segment> segment = std::move(*ended);
      active->erase(ended);
      for (size_t piece = segment->piece; piece < segment->end_piece; ++piece) {
        (*taken)[piece] = false;
      }
      if (!segment->failure.ok()) return segment->failure;
      if (segment->changed) return FileChanged();
      if (segment->piece == segment->end_piece) continue;
      SG_RETURN_IF_ERROR(Recover(remote, segment.get(), code, back_off));
    }
    return OkStatus();
  }

  Error FileChanged() {
    is_corrupt_ = true;  // start anew, once
    return EnvironmentError(fmt::format(
        "{}: the server stopped answering for the same file (it changed, or ranges are refused); "
        "try again",
        ShownUrl(file_.url)));
  }

  /// A segment ended early: asks for the address again when it ran out, waits, or gives up.
  Status Recover(Remote* remote, Segment* segment, int code, BackOff* back_off) {
    const int status = segment->transfer->Response().status;
    const bool expired = code == CURLE_OK && (status == 401 || status == 403 || status == 404 ||
                                              status == 410 || segment->transfer->RedirectTarget());
    if (expired && remote->hop.url != file_.url && back_off->Next(nullptr)) {
      SG_ASSIGN_OR_RETURN(const Remote again, LookAt());
      if (!again.ranges || again.size_bytes != remote->size_bytes) return FileChanged();
      *remote = again;
      return OkStatus();
    }
    if (code == CURLE_OK && status == 206) code = CURLE_PARTIAL_FILE;  // fewer bytes than asked
    const bool answered = code == CURLE_OK;
    const HttpResponse& response = segment->transfer->Response();
    const bool retry = answered ? IsWorthRetrying(status) : IsTransient(code);
    const auto wait_s = retry ? back_off->Next(answered ? &response : nullptr) : std::nullopt;
    if (wait_s) return WaitUnlessInterrupted(*wait_s) ? OkStatus() : InterruptedError();
    if (answered) return Refused(response);
    return TransferError(code, segment->transfer->details(), file_.url);
  }

  HttpClient::Impl* const http_;
  const DownloadFile& file_;
  const DownloadOptions& options_;
  Meter* const meter_;
  bool is_corrupt_ = false;  ///< the last try's bytes were wrong, so one from nothing is due
};

/// True when the file is there, whole as far as its size tells.
bool IsThere(const DownloadFile& file) {
  if (!FileExists(file.path)) return false;
  const Result<uint64_t> size = FileSize(file.path);
  return size.ok() && (!file.size_bytes || *size == *file.size_bytes);
}

Status CheckSpace(const std::vector<const DownloadFile*>& files) {
  uint64_t need_bytes = 0;
  for (const DownloadFile* file : files) {
    uint64_t have_bytes = 0;
    if (const Result<uint64_t> part = FileSize(file->path + ".part"); part.ok()) have_bytes = *part;
    need_bytes += file->size_bytes.value_or(0) - std::min(have_bytes, file->size_bytes.value_or(0));
  }
  return CheckWritable(ParentFolder(files.front()->path), need_bytes);
}

}  // namespace

Status DownloadFiles(HttpClient* client, const std::vector<DownloadFile>& files,
                     const DownloadOptions& options) {
  std::vector<const DownloadFile*> missing;
  uint64_t total_bytes = 0;
  for (const DownloadFile& file : files) {
    if (IsThere(file)) continue;
    missing.push_back(&file);
    total_bytes += file.size_bytes.value_or(0);
  }
  if (missing.empty()) return OkStatus();
  SG_RETURN_IF_ERROR(CheckSpace(missing));
  Meter meter(total_bytes, options);
  uint64_t bytes_before = 0;
  for (const DownloadFile* file : missing) {
    if (Interrupted()) return InterruptedError();
    SG_RETURN_IF_ERROR(MakeFolders(ParentFolder(file->path)));
    meter.SetBase(bytes_before);
    bytes_before += file->size_bytes.value_or(0);
    Lock lock;
    const std::string lock_path = file->lock_path.empty() ? file->path + ".lock" : file->lock_path;
    SG_RETURN_IF_ERROR(lock.Take(lock_path, &meter));
    if (IsThere(*file)) continue;  // by the other process
    SG_RETURN_IF_ERROR(FileDownload(client->impl(), *file, options, &meter).Run());
  }
  return OkStatus();
}

}  // namespace sg

#include "engine/openvino/container.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/json.h"

namespace sg::openvino {
namespace {

constexpr std::string_view kMagic = "SGENGINE";
constexpr uint32_t kVersion = 1;
constexpr size_t kHashBytes = 64;  // SHA-256 in hex
constexpr size_t kPreambleBytes = kMagic.size() + 4 + 4 + kHashBytes;
constexpr size_t kPageBytes = 4096;

void AppendLittleEndian(std::string* bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) *bytes += static_cast<char>(value >> shift);
}

uint32_t ReadLittleEndian(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

size_t NextPage(size_t offset) { return (offset + kPageBytes - 1) / kPageBytes * kPageBytes; }

}  // namespace

std::string EngineFileBytes(const EngineArtifact& artifact, std::vector<ExportedModel> parts) {
  Json parts_json = Json::array();
  size_t total_bytes = 0;
  for (const ExportedModel& part : parts) {
    parts_json.push_back(
        {{"batch", part.batch}, {"size_bytes", part.bytes.size()}, {"sha256", Sha256(part.bytes)}});
    total_bytes += NextPage(part.bytes.size());
  }
  Json engine = artifact.ToJson();
  for (const char* key : {"path", "size_bytes", "sha256"}) engine.erase(key);
  const std::string header = ToJsonLine({{"engine", engine}, {"parts", parts_json}});

  std::string bytes(kMagic);
  bytes.reserve(NextPage(kPreambleBytes + header.size()) + total_bytes);
  AppendLittleEndian(&bytes, kVersion);
  AppendLittleEndian(&bytes, static_cast<uint32_t>(header.size()));
  bytes += Sha256(header);
  bytes += header;
  for (ExportedModel& part : parts) {
    bytes.resize(NextPage(bytes.size()));
    bytes += part.bytes;
    std::string().swap(part.bytes);  // engines can be large; hold each once
  }
  return bytes;
}

Result<MappedEngineFile> MappedEngineFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return UserError(std::string("it cannot be opened: ") + std::strerror(errno));
  MappedEngineFile file;
  struct stat info {};
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  void* data = MAP_FAILED;
  if (regular && info.st_size > 0)
    data = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (!regular) return UserError("it is not a file");
  if (info.st_size == 0) return UserError("it is empty");
  if (data == MAP_FAILED) return UserError("it cannot be mapped into memory");
  file.data_ = static_cast<const char*>(data);
  file.size_bytes_ = static_cast<size_t>(info.st_size);
  SG_RETURN_IF_ERROR(file.ReadHeader());
  file.artifact_.path = path;
  file.artifact_.size_bytes = file.size_bytes_;
  return file;
}

Status MappedEngineFile::ReadHeader() {
  const std::string_view bytes(data_, size_bytes_);
  if (bytes.size() < kPreambleBytes || bytes.substr(0, kMagic.size()) != kMagic)
    return UserError("it does not start as an engine file");
  const uint32_t version = ReadLittleEndian(data_ + kMagic.size());
  if (version != kVersion)
    return UserError("its format is version " + std::to_string(version) + ", this program reads " +
                     std::to_string(kVersion));
  const uint32_t header_size = ReadLittleEndian(data_ + kMagic.size() + 4);
  if (header_size > bytes.size() - kPreambleBytes) return UserError("it ends within its header");
  const std::string header(bytes.substr(kPreambleBytes, header_size));
  if (bytes.substr(kPreambleBytes - kHashBytes, kHashBytes) != Sha256(header))
    return UserError("its header does not have the hash recorded");

  const Json json = Json::parse(header, nullptr, /*allow_exceptions=*/false);
  const Json* parts = json.is_object() && json.contains("parts") ? &json["parts"] : nullptr;
  if (parts == nullptr || !parts->is_array() || parts->empty() || !json.contains("engine"))
    return UserError("its header lists no parts");
  Json engine = json["engine"];
  if (!engine.is_object()) return UserError("its header does not describe an engine");
  engine["path"] = "";
  engine["size_bytes"] = 0;
  engine["sha256"] = "";
  SG_ASSIGN_OR_RETURN(artifact_, EngineArtifact::FromJson(engine));

  size_t offset = kPreambleBytes + header_size;
  for (const Json& part : *parts) {
    if (!part.is_object() || !part.contains("batch") || !part["batch"].is_number_integer() ||
        !part.contains("size_bytes") || !part["size_bytes"].is_number_unsigned() ||
        !part.contains("sha256") || !part["sha256"].is_string())
      return UserError("its header describes a part badly");
    const auto size = part["size_bytes"].get<uint64_t>();
    const int batch = part["batch"].get<int>();
    const std::string name = "the model at batch " + std::to_string(batch);
    offset = NextPage(offset);
    if (offset > bytes.size() || size > bytes.size() - offset)
      return UserError("it ends within " + name);
    if (Sha256(bytes.substr(offset, size)) != part["sha256"].get<std::string>())
      return UserError(name + " does not have the hash recorded");
    parts_.push_back({batch, data_ + offset, static_cast<size_t>(size)});
    offset += size;
  }
  if (offset != bytes.size())
    return UserError("it has " + std::to_string(bytes.size() - offset) + " bytes too many");
  return OkStatus();
}

MappedEngineFile::~MappedEngineFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_bytes_);
}

MappedEngineFile::MappedEngineFile(MappedEngineFile&& other) noexcept { *this = std::move(other); }

MappedEngineFile& MappedEngineFile::operator=(MappedEngineFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(artifact_, other.artifact_);
  std::swap(parts_, other.parts_);
  return *this;
}

}  // namespace sg::openvino

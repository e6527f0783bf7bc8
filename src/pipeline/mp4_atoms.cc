#include "pipeline/mp4_atoms.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sg {
namespace {

constexpr uint64_t kHeaderBytes = 8;
constexpr uint64_t kLongHeaderBytes = 16;
/// More top-level atoms than any real file has (a day of one-second fragments has 172,800).
constexpr size_t kMaxAtoms = 1'000'000;

uint64_t BigEndian(const unsigned char* bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | bytes[i];
  return value;
}

/// Atom types are printable, but for Apple's that begin with a copyright sign (0xa9).
bool IsAtomType(const std::string& type) {
  return std::all_of(type.begin(), type.end(),
                     [](unsigned char c) { return (c >= 0x20 && c < 0x7f) || c == 0xa9; });
}

enum class HeaderState { kWhole, kCut, kBad };

HeaderState ReadHeader(uint64_t offset, uint64_t file_bytes, const ReadAtFn& read_at,
                       Mp4Atom* atom) {
  std::array<unsigned char, kLongHeaderBytes> bytes{};
  const size_t got = read_at(offset, bytes.data(), bytes.size());
  if (got < kHeaderBytes) return HeaderState::kCut;
  atom->offset = offset;
  atom->type.assign(reinterpret_cast<const char*>(bytes.data()) + 4, 4);
  atom->size = BigEndian(bytes.data(), 4);
  uint64_t header_bytes = kHeaderBytes;
  if (atom->size == 0) {
    atom->size = file_bytes - offset;
  } else if (atom->size == 1) {
    if (got < kLongHeaderBytes) return HeaderState::kCut;
    atom->size = BigEndian(bytes.data() + kHeaderBytes, 8);
    header_bytes = kLongHeaderBytes;
  }
  return atom->size < header_bytes || !IsAtomType(atom->type) ? HeaderState::kBad
                                                              : HeaderState::kWhole;
}

}  // namespace

Mp4Outline ReadMp4Outline(uint64_t file_bytes, const ReadAtFn& read_at) {
  Mp4Outline outline;
  outline.expected_bytes = file_bytes;
  uint64_t offset = 0;
  while (offset < file_bytes && outline.atoms.size() < kMaxAtoms) {
    Mp4Atom atom;
    switch (ReadHeader(offset, file_bytes, read_at, &atom)) {
      case HeaderState::kBad:
        outline.damaged = true;
        return outline;
      case HeaderState::kCut:
        outline.expected_bytes = std::max(file_bytes + 1, offset + kHeaderBytes);
        return outline;
      case HeaderState::kWhole:
        break;
    }
    const bool whole = atom.size <= file_bytes - offset;
    outline.atoms.push_back(atom);
    outline.has_moov |= whole && atom.type == "moov";
    if (!whole) {
      outline.expected_bytes = atom.size > UINT64_MAX - offset ? UINT64_MAX : offset + atom.size;
      return outline;
    }
    offset += atom.size;
  }
  return outline;
}

bool LooksLikeMp4(uint64_t file_bytes, const ReadAtFn& read_at) {
  constexpr std::array<const char*, 6> kFirst = {"ftyp", "moov", "mdat", "wide", "free", "skip"};
  Mp4Atom atom;
  if (file_bytes < kHeaderBytes || ReadHeader(0, file_bytes, read_at, &atom) == HeaderState::kBad)
    return false;
  return std::find(kFirst.begin(), kFirst.end(), atom.type) != kFirst.end();
}

std::string Mp4Complaint(const Mp4Outline& outline, uint64_t file_bytes) {
  if (outline.expected_bytes > file_bytes)
    return "is cut off: " + std::to_string(file_bytes) + " of " +
           (outline.expected_bytes == file_bytes + 1 ? "more than " + std::to_string(file_bytes)
                                                     : std::to_string(outline.expected_bytes)) +
           " bytes are there";
  if (!outline.has_moov)
    return outline.damaged ? "is damaged: what follows its first atoms is not MP4"
                           : "has no index (moov atom): the recording was not finished";
  return "";
}

}  // namespace sg

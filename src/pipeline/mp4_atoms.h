// The outline of an MP4 or QuickTime file, just enough to tell a whole file from a cut-off one.
// Atom headers: ISO/IEC 14496-12, section 4.2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sg {

struct Mp4Atom {
  std::string type;     ///< four characters
  uint64_t offset = 0;  ///< of the header, from the start of the file
  uint64_t size = 0;    ///< with the header, as the header says; an atom "to the end" ends there
};

struct Mp4Outline {
  std::vector<Mp4Atom> atoms;  ///< top level, in file order; the last one may reach beyond the file
  bool has_moov = false;       ///< a whole one
  /// What the file would have to be long by the atoms' own sizes; the file's size when it is whole.
  uint64_t expected_bytes = 0;
  /// An atom header that cannot be (size below its own header, or a type that is not text).
  bool damaged = false;
};

/// Reads `size` bytes at `offset` into `to`; returns how many it got.
using ReadAtFn = std::function<size_t(uint64_t offset, void* to, size_t size)>;

/// Walks the top-level atoms of a file of `file_bytes`. Bounded work whatever the bytes are.
Mp4Outline ReadMp4Outline(uint64_t file_bytes, const ReadAtFn& read_at);

/// The first atom is one that such files begin with ("ftyp", "moov", "mdat", "wide", "free",
/// "skip").
bool LooksLikeMp4(uint64_t file_bytes, const ReadAtFn& read_at);

/// Why the file cannot be played whole ("cut off: 12 of 30 bytes", …); empty when it can.
std::string Mp4Complaint(const Mp4Outline& outline, uint64_t file_bytes);

}  // namespace sg

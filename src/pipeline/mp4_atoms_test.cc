#include "pipeline/mp4_atoms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace sg {
namespace {

std::string BigEndian(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

std::string Atom(const std::string& type, size_t payload) {
  return BigEndian(payload + 8, 4) + type + std::string(payload, 'x');
}

std::string LongAtom(const std::string& type, size_t payload) {
  return BigEndian(1, 4) + type + BigEndian(payload + 16, 8) + std::string(payload, 'x');
}

ReadAtFn Reader(const std::string& bytes) {
  return [&bytes](uint64_t offset, void* to, size_t size) {
    if (offset >= bytes.size()) return size_t{0};
    const size_t got = std::min<size_t>(size, bytes.size() - offset);
    std::memcpy(to, bytes.data() + offset, got);
    return got;
  };
}

std::string Complaint(const std::string& bytes) {
  return Mp4Complaint(ReadMp4Outline(bytes.size(), Reader(bytes)), bytes.size());
}

TEST(Mp4Atoms, AWholeFileHasNothingToComplainOf) {
  EXPECT_EQ(Complaint(Atom("ftyp", 16) + Atom("moov", 100) + Atom("mdat", 500)), "");
  EXPECT_EQ(Complaint(Atom("ftyp", 16) + Atom("mdat", 500) + Atom("moov", 100)), "");
}

TEST(Mp4Atoms, ReadsSixtyFourBitSizes) {
  const std::string bytes = Atom("ftyp", 16) + LongAtom("mdat", 500) + Atom("moov", 9);
  const Mp4Outline outline = ReadMp4Outline(bytes.size(), Reader(bytes));
  ASSERT_EQ(outline.atoms.size(), 3u);
  EXPECT_EQ(outline.atoms[1].size, 516u);
  EXPECT_EQ(outline.atoms[2].type, "moov");
}

TEST(Mp4Atoms, SizeZeroReachesToTheEnd) {
  const std::string bytes =
      Atom("ftyp", 16) + Atom("moov", 9) + BigEndian(0, 4) + "mdat" + std::string(77, 'x');
  const Mp4Outline outline = ReadMp4Outline(bytes.size(), Reader(bytes));
  EXPECT_EQ(outline.atoms.back().size, 85u);
  EXPECT_EQ(Complaint(bytes), "");
}

TEST(Mp4Atoms, ACutOffFileNamesBothSizes) {
  const std::string whole = Atom("ftyp", 16) + Atom("moov", 100) + Atom("mdat", 500);
  EXPECT_EQ(Complaint(whole.substr(0, 300)), "is cut off: 300 of 640 bytes are there");
}

TEST(Mp4Atoms, AMoovThatIsCutDoesNotCount) {
  const std::string whole = Atom("ftyp", 16) + Atom("mdat", 50) + Atom("moov", 100);
  const std::string cut = whole.substr(0, whole.size() - 1);
  const Mp4Outline outline = ReadMp4Outline(cut.size(), Reader(cut));
  EXPECT_FALSE(outline.has_moov);
  EXPECT_NE(Complaint(cut), "");
}

TEST(Mp4Atoms, AFileCutBetweenAtomsHasNoIndex) {
  EXPECT_EQ(Complaint(Atom("ftyp", 16) + Atom("mdat", 50)),
            "has no index (moov atom): the recording was not finished");
}

TEST(Mp4Atoms, AFileCutInAHeaderIsCutOff) {
  const std::string bytes = Atom("ftyp", 16) + Atom("moov", 9) + std::string(5, '\0');
  EXPECT_EQ(Complaint(bytes).rfind("is cut off: ", 0), 0u) << Complaint(bytes);
}

TEST(Mp4Atoms, ASizeBelowItsHeaderIsDamage) {
  for (uint64_t size : {2, 7}) {
    const std::string bytes = Atom("ftyp", 16) + BigEndian(size, 4) + "mdat" + std::string(20, 'x');
    const Mp4Outline outline = ReadMp4Outline(bytes.size(), Reader(bytes));
    EXPECT_TRUE(outline.damaged) << size;
    EXPECT_EQ(outline.atoms.size(), 1u);
  }
  const std::string long_size = BigEndian(1, 4) + "mdat" + BigEndian(15, 8);
  EXPECT_TRUE(ReadMp4Outline(long_size.size(), Reader(long_size)).damaged);
}

TEST(Mp4Atoms, GarbageBehindAWholeIndexIsTolerated) {
  const std::string bytes = Atom("ftyp", 16) + Atom("moov", 9) + std::string(20, '\x01');
  EXPECT_TRUE(ReadMp4Outline(bytes.size(), Reader(bytes)).damaged);
  EXPECT_EQ(Complaint(bytes), "");
}

TEST(Mp4Atoms, SizesNearTheLimitDoNotOverflow) {
  const std::string bytes =
      Atom("ftyp", 16) + BigEndian(1, 4) + "mdat" + BigEndian(UINT64_MAX, 8) + "xxxx";
  const Mp4Outline outline = ReadMp4Outline(bytes.size(), Reader(bytes));
  EXPECT_EQ(outline.expected_bytes, UINT64_MAX);
}

TEST(Mp4Atoms, OnlyKnownFirstAtomsLookLikeMp4) {
  const std::string mp4 = Atom("ftyp", 16);
  const std::string other = Atom("RIFF", 16);
  EXPECT_TRUE(LooksLikeMp4(mp4.size(), Reader(mp4)));
  EXPECT_FALSE(LooksLikeMp4(other.size(), Reader(other)));
  EXPECT_FALSE(LooksLikeMp4(3, Reader(mp4)));
}

}  // namespace
}  // namespace sg

#include "deepstream/key_file.h"

#include <glib.h>
#include <gtest/gtest.h>

namespace sg {
namespace {

KeyFile Parsed(const std::string& text) {
  auto file = KeyFile::Parse(text, "f.txt");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file.ok() ? *std::move(file) : KeyFile();
}

std::string MessageOf(const std::string& text) {
  auto file = KeyFile::Parse(text, "f.txt");
  EXPECT_FALSE(file.ok());
  return file.ok() ? "" : file.error().message;
}

TEST(KeyFileTest, GroupsKeysAndLinesAreKept) {
  const KeyFile file = Parsed("# a comment\n\n[property]\nbatch-size = 4\n  interval=0\n[b]\nk=\n");
  ASSERT_EQ(file.groups().size(), 2U);
  const auto* group = file.FindGroup("property");
  ASSERT_NE(group, nullptr);
  ASSERT_EQ(group->entries.size(), 2U);
  EXPECT_EQ(group->entries[0].key, "batch-size");
  EXPECT_EQ(group->entries[0].value, "4");
  EXPECT_EQ(group->entries[0].line, 4);
  EXPECT_EQ(group->entries[1].key, "interval");
  EXPECT_EQ(file.FindGroup("b")->entries[0].value, "");
  EXPECT_EQ(file.FindGroup("c"), nullptr);
}

TEST(KeyFileTest, LastOfTwoValuesWinsAndARepeatedGroupGoesOn) {
  const KeyFile file = Parsed("[a]\nx=1\ny=1\n[b]\nz=1\n[a]\nx=2\n");
  ASSERT_EQ(file.groups().size(), 2U);
  const auto* group = file.FindGroup("a");
  ASSERT_EQ(group->entries.size(), 2U);
  EXPECT_EQ(group->entries[0].value, "2");
  EXPECT_EQ(group->entries[0].line, 7);
}

TEST(KeyFileTest, WindowsLineEndsAndAByteOrderMarkAreNotPartOfTheText) {
  const KeyFile file = Parsed("\xEF\xBB\xBF[a]\r\nx=1\r\ny = two words\r\n");
  EXPECT_EQ(file.FindGroup("a")->entries[0].value, "1");
  EXPECT_EQ(file.FindGroup("a")->entries[1].value, "two words");
}

TEST(KeyFileTest, SemicolonCommentIsReadAndNotedOnce) {
  const KeyFile file = Parsed("; one\n[a]\n;x=1\ny=2\n");
  EXPECT_EQ(file.FindGroup("a")->entries.size(), 1U);
  ASSERT_EQ(file.notes().size(), 1U);
  EXPECT_NE(file.notes()[0].find("f.txt:1"), std::string::npos);
}

TEST(KeyFileTest, MalformedLinesAreNamed) {
  EXPECT_NE(MessageOf("[a]\nx 1\n").find("f.txt:2: 'x 1'"), std::string::npos);
  EXPECT_NE(MessageOf("[a\nx=1\n").find("f.txt:1"), std::string::npos);
  EXPECT_NE(MessageOf("[]\n").find("f.txt:1"), std::string::npos);
  EXPECT_NE(MessageOf("x=1\n[a]\n").find("before the first [group]"), std::string::npos);
  EXPECT_NE(MessageOf("[a]\n=1\n").find("f.txt:2"), std::string::npos);
}

TEST(KeyFileTest, EscapesSurviveBothWays) {
  for (const char* value :
       {"plain", " two  spaces ", "a\\b\\s", "tab\tline\nend\r", "", "\\", " "}) {
    EXPECT_EQ(UnescapeKeyFileValue(EscapeKeyFileValue(value)), value);
  }
  EXPECT_EQ(UnescapeKeyFileValue("a\\qb\\"), "a\\qb\\");
}

TEST(KeyFileTest, ListsAreSplitWithoutTheirSpacesAndLastSemicolon) {
  EXPECT_EQ(SplitKeyFileList("3;320;320"), (std::vector<std::string>{"3", "320", "320"}));
  EXPECT_EQ(SplitKeyFileList(" a ; b ; "), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(SplitKeyFileList("1;;2"), (std::vector<std::string>{"1", "", "2"}));
  EXPECT_TRUE(SplitKeyFileList("").empty());
}

// DeepStream reads these files with GLib: what both accept must mean the same.
TEST(KeyFileTest, AgreesWithGLib) {
  const char* const text =
      "# c\n[property]\n a = 1 \nb=x y\nc =\\sq\\\\r\\t\na=2\n[class-attrs-all]\ntopk=200\n"
      "[property]\nd=;\ne==\n#f=1\ng=caf\xC3\xA9\n";
  GKeyFile* glib = g_key_file_new();
  ASSERT_TRUE(g_key_file_load_from_data(glib, text, -1, G_KEY_FILE_NONE, nullptr));
  const KeyFile file = Parsed(text);
  size_t compared = 0;
  for (const KeyFile::Group& group : file.groups()) {
    for (const KeyFile::Entry& entry : group.entries) {
      char* value = g_key_file_get_string(glib, group.name.c_str(), entry.key.c_str(), nullptr);
      ASSERT_NE(value, nullptr) << entry.key;
      std::string expected = value;
      if (entry.key == "a") expected = g_strchomp(value);  // GLib keeps spaces at a value's end
      EXPECT_EQ(UnescapeKeyFileValue(entry.value), expected) << entry.key;
      g_free(value);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 7U);
  g_key_file_free(glib);
}

}  // namespace
}  // namespace sg

#include "runtime/names.h"

#include <gtest/gtest.h>

#include <set>

using namespace gradus::runtime;

TEST(Names, AreUtf8OfEachLength) {
  for (const char *text : {"", "conv1.weight", "\xC3\xA9", "\xE2\x82\xAC",
                           "\xF0\x9F\x99\x82", "\xEF\xBF\xBD", "\x7F"})
    EXPECT_TRUE(isUtf8(text)) << text;
}

TEST(Names, AreNotUtf8WhereACharacterIsCutOrNone) {
  for (const char *text :
       {"\xE9", "\xC3", "a\x80", "\xE2\x82", "\xF0\x9F\x99", "\xFF",
        "\xC0\xAF" /* longer than it need be */, "\xE0\x80\x80",
        "\xF0\x80\x80\x80", "\xED\xA0\x80" /* a surrogate */,
        "\xF4\x90\x80\x80" /* beyond the last */,
        "\xC3"
        "a"})
    EXPECT_FALSE(isUtf8(text)) << asUtf8(text);
}

TEST(Names, AreLeftAsTheyAreWhereTheyAreUtf8) {
  for (const char *text : {"", "caf\xC3\xA9", "C:\\x", "\\xe9", "\\xE", "\\\\"})
    EXPECT_EQ(asUtf8(text), text);
}

TEST(Names, OfOtherBytesBecomeUtf8) {
  EXPECT_EQ(asUtf8("mod\xE9le.onnx"), "mod\\xE9le.onnx");
  EXPECT_EQ(asUtf8("\xC3\xA9\xC3"), "\xC3\xA9\\xC3");
}

TEST(Names, ThatDifferAreWrittenDifferently) {
  std::set<std::string> written;
  const char *names[] = {"\xE9",     "\\xE9",     "\\x5CxE9", "\\\xE9",
                         "\\\\xE9",  "\\x\xE9",   "\xC3\xA9", "\\x5C",
                         "\\x4\xE9", "\\x4\\xE9", "\xFF"};
  for (const char *name : names) {
    EXPECT_TRUE(isUtf8(asUtf8(name)));
    EXPECT_TRUE(written.insert(asUtf8(name)).second) << asUtf8(name);
  }
}

TEST(Names, OfTensorsAreTextAndNotWhatFilesKeepForThemselves) {
  EXPECT_EQ(nameProblem("w"), "");
  EXPECT_EQ(nameProblem("w\xE9"), "is not UTF-8");
  EXPECT_EQ(nameProblem("__metadata__"),
            "is the one that .safetensors files keep for themselves");
}

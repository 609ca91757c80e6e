#include "messages/shell_word.h"

#include <gtest/gtest.h>

using namespace gradus;

TEST(ShellWord, IsAsItIsWhereAShellChangesNothing) {
  EXPECT_EQ(shellWord("a/lenet.step-4.onnx"), "a/lenet.step-4.onnx");
  EXPECT_EQ(shellWord("batch=..."), "batch=...");
}

TEST(ShellWord, IsQuotedWhereItWouldBeMoreOrOther) {
  EXPECT_EQ(shellWord("two words"), "'two words'");
  EXPECT_EQ(shellWord("fc.*="), "'fc.*='");
  EXPECT_EQ(shellWord(""), "''");
}

TEST(ShellWord, EndsNoQuoteOfOurs) {
  EXPECT_EQ(shellWord("it's"), R"('it'\''s')");
  EXPECT_EQ(quotedForShell("w'; touch x; '"), R"('w'\''; touch x; '\''')");
}

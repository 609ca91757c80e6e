#include "codegen/artifact/bytecode_check.h"

#include <gtest/gtest.h>

#include <string>

using namespace gradus;

namespace {

/// A number below 128 as bytecode has it.
char coded(int number) { return static_cast<char>(number * 2 + 1); }

std::string section(char id, const std::string &bytes) {
  return std::string{id, coded(static_cast<int>(bytes.size()))} + bytes;
}

bool isSound(const std::string &sections) {
  std::string all =
      "ML\xefR" + std::string{coded(6)} + "gradus" + '\0' + sections;
  return isSoundBytecode({all.data(), all.size()});
}

/// One attribute and one type, in groups with these numbers of entries.
std::string groups(int attributes, int types) {
  return section(3, {coded(1), coded(1), coded(0), coded(attributes), coded(9),
                     coded(0), coded(types), coded(9)});
}

} // namespace

TEST(BytecodeCheck, TakesSectionsWithWholeGroups) {
  EXPECT_TRUE(isSound(""));
  EXPECT_TRUE(isSound(section(0, "strings") + groups(1, 1)));
  EXPECT_TRUE(isSound(section(6, {coded(0)}) + section(5, "")));
}

TEST(BytecodeCheck, RefusesGroupsWithoutRoom) {
  EXPECT_FALSE(isSound(groups(2, 1)));
  EXPECT_FALSE(isSound(groups(1, 2)));
  EXPECT_FALSE(isSound(section(3, {coded(100), coded(1)})));
  EXPECT_FALSE(isSound(section(3, "")));
}

TEST(BytecodeCheck, RefusesResources) {
  EXPECT_FALSE(isSound(section(5, "x")));
  EXPECT_FALSE(isSound(section(6, {coded(1), coded(0)})));
}

TEST(BytecodeCheck, RefusesWhatIsCutShort) {
  EXPECT_FALSE(isSoundBytecode({}));
  EXPECT_FALSE(isSoundBytecode({"ML\xefR", 4}));
  EXPECT_FALSE(isSound(std::string{0, coded(5), 'a'}));
  EXPECT_FALSE(isSound(std::string{0, '\0', 'a'})); // a number of 8 bytes
}

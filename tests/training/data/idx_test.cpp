// The files of MNIST.

#include "tests/training/data/files.h"
#include "training/data/formats.h"

using namespace gradus::data;
using gradus::runtime::DType;
using gradus::runtime::TensorType;
using testing::HasSubstr;

static gradus::runtime::StatusOr<Column> parse(const std::string &text) {
  auto owner = std::make_shared<std::vector<uint8_t>>(text.begin(), text.end());
  return readIdx({*owner, owner}, "x");
}

TEST(Idx, ReadsImagesAsPixels) {
  auto column = parse(
      std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03", 16) + "abcdef");
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(column->type, (TensorType{DType::u8, {2, 1, 3}}));
  EXPECT_EQ(column->meaning, Meaning::pixels);
  EXPECT_EQ(column->bytes[5], 'f');
}

TEST(Idx, ReadsLabelsAsNumbers) {
  auto column = parse(std::string("\0\0\x08\x01\0\0\0\x02", 8) + "\x05\x09");
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(column->meaning, Meaning::values);
}

TEST(Idx, RefusesSizesThatTheDataDoNotHave) {
  EXPECT_THAT(
      wordsOf(parse(std::string("\0\0\x08\x01\0\0\0\x03", 8) + "ab").status()),
      HasSubstr("says 3xu8 but 2 bytes follow"));
  EXPECT_FALSE(parse(std::string("\0\0\x08\x04\0\0\0\x03", 8)).ok());
}

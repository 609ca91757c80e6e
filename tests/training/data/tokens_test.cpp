// Streams of tokens with and without a header.

#include "tests/training/data/files.h"
#include "training/data/formats.h"

using namespace gradus::data;
using gradus::runtime::DType;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

gradus::runtime::StatusOr<Column> parse(const std::string &text,
                                        bool wide = false) {
  auto owner = std::make_shared<std::vector<uint8_t>>(text.begin(), text.end());
  return readTokens({*owner, owner}, "ids", wide);
}

std::string header(int32_t magic, int32_t version, int32_t tokens) {
  std::vector<int32_t> words(256);
  words[0] = magic;
  words[1] = version;
  words[2] = tokens;
  return bytesOf(words);
}

} // namespace

TEST(Tokens, AreNumbersOf16BitsOrOf32) {
  auto narrow = parse(bytesOf<uint16_t>({1, 65535}));
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_EQ(narrow->meaning, Meaning::tokens);
  EXPECT_THAT(valuesOf<uint16_t>(narrow->bytes), ElementsAre(1, 65535));
  auto wide = parse(bytesOf<uint32_t>({1, 100000}), true);
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_THAT(valuesOf<uint32_t>(wide->bytes), ElementsAre(1, 100000));
}

TEST(Tokens, OfLlmCHaveAHeader) {
  std::string file = header(20240520, 1, 3) + bytesOf<uint16_t>({7, 8, 9});
  auto tokens = parse(file);
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_THAT(valuesOf<uint16_t>(tokens->bytes), ElementsAre(7, 8, 9));
  auto wide = parse(header(20240801, 7, 1) + bytesOf<uint32_t>({100000}));
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ(wide->type.dtype, DType::u32);
}

TEST(Tokens, AreRefusedWhereTheHeaderDoesNotFit) {
  EXPECT_THAT(wordsOf(parse(header(20240520, 2, 1) + "ab").status()),
              HasSubstr("has the version 2"));
  EXPECT_THAT(wordsOf(parse(header(20240520, 1, 5) + "ab").status()),
              HasSubstr("has 1 tokens, but its header says 5"));
  EXPECT_THAT(wordsOf(parse(header(20240520, 1, 0)).status()),
              HasSubstr("0 bytes are not one or more u16"));
}

TEST(Tokens, AreRefusedWhereBytesAreLeftOver) {
  EXPECT_THAT(wordsOf(parse("abc").status()),
              HasSubstr("3 bytes are not one or more u16"));
  EXPECT_FALSE(parse("").ok());
}

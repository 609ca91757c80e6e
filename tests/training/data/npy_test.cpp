// NumPy's arrays, read and written.

#include "tests/training/data/files.h"
#include "training/data/formats.h"

using namespace gradus::data;
using gradus::runtime::DType;
using gradus::runtime::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;

static gradus::runtime::StatusOr<Column> parse(const std::string &text) {
  auto owner = std::make_shared<std::vector<uint8_t>>(text.begin(), text.end());
  return readNpy({*owner, owner}, "x");
}

TEST(Npy, ReadsAnArray) {
  auto column = parse(npyFile("<i4", "2, 2", bytesOf<int32_t>({1, 2, 3, 4})));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(column->type, (TensorType{DType::i32, {2, 2}}));
  EXPECT_THAT(valuesOf<int32_t>(column->bytes), ElementsAre(1, 2, 3, 4));
}

TEST(Npy, ReadsAScalar) {
  auto column = parse(npyFile("<f4", "", bytesOf<float>({5})));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_TRUE(column->type.shape.empty());
}

TEST(Npy, WritesWhatItReads) {
  TensorType type{DType::f32, {3, 1}};
  std::string data = bytesOf<float>({1, 2, 3});
  std::string file = writeNpy(
      type, {reinterpret_cast<const uint8_t *>(data.data()), data.size()});
  EXPECT_EQ((file.size() - data.size()) % 64, 0u);
  auto column = parse(file);
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(column->type, type);
  EXPECT_THAT(valuesOf<float>(column->bytes), ElementsAre(1, 2, 3));
}

TEST(Npy, RefusesOtherTypesByName) {
  EXPECT_THAT(wordsOf(parse(npyFile(">f4", "1,", "....")).status()),
              HasSubstr("the .npy type '>f4' is not supported"));
}

TEST(Npy, RefusesAnArrayThatIsCutOffOrHasMoreBehindIt) {
  EXPECT_THAT(wordsOf(parse(npyFile("<f4", "3,", "....")).status()),
              HasSubstr("is 3xf32 but only 4 bytes follow"));
  EXPECT_THAT(wordsOf(parse(npyFile("<f4", "1,", "........")).status()),
              HasSubstr("is 1xf32 but 8 bytes follow"));
}

TEST(Npy, RefusesVersionsThatThereAreNot) {
  std::string file = npyFile("<f4", "1,", "....");
  for (auto [major, minor] : {std::pair(0, 0), {4, 0}, {9, 0}, {1, 1}}) {
    file[6] = char(major), file[7] = char(minor);
    EXPECT_THAT(wordsOf(parse(file).status()),
                HasSubstr(gradus::runtime::inWords(
                    "is of version ", major, ".", minor,
                    " of the .npy format; expected 1.0, 2.0 or 3.0")));
  }
}

TEST(Npy, RefusesWhatIsNoArray) {
  EXPECT_THAT(wordsOf(parse("").status()), HasSubstr("is not a .npy file"));
  EXPECT_FALSE(parse(npyFile("<f4", "1000000000000, 1000000000000", "")).ok());
  EXPECT_FALSE(parse(npyFile("<f4", "-1,", "")).ok());
}

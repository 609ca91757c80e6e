// The records of CIFAR-10 and CIFAR-100.

#include "tests/training/data/files.h"
#include "training/data/formats.h"

using namespace gradus::data;
using testing::ElementsAre;
using testing::HasSubstr;

static gradus::runtime::StatusOr<std::vector<Column>>
parse(const std::string &text) {
  auto owner = std::make_shared<std::vector<uint8_t>>(text.begin(), text.end());
  return readCifar({*owner, owner}, "image");
}

TEST(Cifar, SplitsRecordsIntoImagesAndLabels) {
  auto columns =
      parse('\x03' + std::string(3072, 'a') + '\x09' + std::string(3072, 'b'));
  ASSERT_TRUE(columns.ok()) << columns.status();
  const Column &image = (*columns)[0], &label = (*columns)[1];
  EXPECT_EQ(gradus::runtime::toString(image.type), "2x3x32x32xu8");
  EXPECT_EQ(image.bytes[3071], 'a');
  EXPECT_EQ(image.bytes[3072], 'b');
  EXPECT_THAT(valuesOf<uint8_t>(label.bytes), ElementsAre(3, 9));
}

TEST(Cifar, TakesTheFineLabelOfCifar100) {
  auto columns = parse(std::string("\x01\x2a", 2) + std::string(3072, 'a'));
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(valuesOf<uint8_t>((*columns)[1].bytes), ElementsAre(0x2a));
}

TEST(Cifar, RefusesOtherSizes) {
  EXPECT_THAT(wordsOf(parse("abc").status()),
              HasSubstr("its 3 bytes are not records"));
  EXPECT_FALSE(parse("").ok());
}

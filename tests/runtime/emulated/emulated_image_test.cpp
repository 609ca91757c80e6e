// Images of emulated kernels, whole and damaged.

#include "runtime/emulated/emulated_image.h"

#include <gtest/gtest.h>

using namespace gradus::runtime::cuda;

namespace {

std::vector<uint8_t> image() {
  EmulatedFunction functions[] = {{"first", 0, 128, 256, 3},
                                  {"a_second_kernel", 8, 0, 32, 5}};
  uint8_t code[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  return packImage(functions, code);
}

} // namespace

TEST(EmulatedImage, HoldsWhatWasPutIn) {
  auto bytes = image();
  EXPECT_TRUE(isEmulatedImage(bytes.data()));
  auto read = readImage(bytes.data());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->functions.size(), 2u);
  EXPECT_EQ(read->functions[0].name, "first");
  EXPECT_EQ(read->functions[0].shared, 128u);
  EXPECT_EQ(read->functions[0].arguments, 3u);
  EXPECT_EQ(read->functions[1].name, "a_second_kernel");
  EXPECT_EQ(read->functions[1].entry, 8u);
  EXPECT_EQ(read->functions[1].threads, 32u);
  ASSERT_EQ(read->code.size(), 11u);
  EXPECT_EQ(read->code[10], 11);
}

TEST(EmulatedImage, NoChangedByteIsRead) {
  auto bytes = image();
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= 0x10;
    auto read = readImage(damaged.data());
    ASSERT_FALSE(read.ok()) << "byte " << i;
    EXPECT_EQ(read.status().message(), "the emulated image is corrupted");
  }
}

TEST(EmulatedImage, RefusesEntriesBehindTheCode) {
  EmulatedFunction function{"far", 4, 0, 1, 0};
  uint8_t code[] = {0, 0, 0, 0};
  auto bytes = packImage({&function, 1}, code);
  EXPECT_EQ(readImage(bytes.data()).status().message(),
            "the emulated image is forged");
}

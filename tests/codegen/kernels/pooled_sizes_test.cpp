// Sizes of gradients behind a max pool, and where they are worth a kernel.

#include "codegen/kernels/pooled_sizes.h"
#include "tests/end_to_end/compiled.h"

using namespace gradus;

namespace {

/// Calls `use` with the sizes of a convolution by 5 x 5 from 14 x 14 to 10 x
/// 10, behind which a pool has 2 x 2.
template <typename Use>
auto withSizes(int64_t samples, int64_t channels, int64_t outputs, Use use) {
  std::string count =
      std::to_string(samples) + "x" + std::to_string(outputs) + "x";
  ModuleText module(
      "gradus.program @p {\ngradus.graph @g(%dp: tensor<" + count +
      "5x5xf32>, %i: tensor<" + count + "5x5xi32>) -> (dy: tensor<" + count +
      "10x10xf32>) {\n%dy = gradus.max_pool_backward %dp, %i window [2, 2] "
      "strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<" +
      count + "5x5xf32>, tensor<" + count + "5x5xi32> -> tensor<" + count +
      "10x10xf32>\ngradus.return %dy : tensor<" + count + "10x10xf32>\n}\n}\n");
  MaxPoolBackwardOp op;
  module.module->walk([&](MaxPoolBackwardOp found) { op = found; });
  int64_t size[] = {5, 5}, one[] = {1, 1}, zero[] = {0, 0},
          shape[] = {samples, channels, 14, 14};
  return use(PooledSizes({size, one, zero, zero, one}, op, shape));
}

} // namespace

TEST(PooledSizes, CountWhatIsMultiplied) {
  withSizes(32, 6, 16, [](const PooledSizes &sizes) {
    EXPECT_EQ(sizes.lanes, 8);
    EXPECT_EQ(sizes.stride(0), 14);
    EXPECT_EQ(sizes.reach(), 4 * 14 + 4);
    EXPECT_EQ(sizes.flops(), 2 * 32 * 16 * 25 * 25 * 6);
  });
  withSizes(32, 9, 16,
            [](const PooledSizes &sizes) { EXPECT_EQ(sizes.lanes, 16); });
}

TEST(PooledSizes, PayWhereChannelsFillVectors) {
  auto pays = [](const PooledSizes &sizes) { return sizes.pays(); };
  EXPECT_TRUE(withSizes(32, 6, 16, pays));
  EXPECT_TRUE(withSizes(32, 16, 4, pays));
  EXPECT_FALSE(withSizes(32, 1, 16, pays));
  // Threads share samples, and an image is worth several outputs.
  EXPECT_FALSE(withSizes(4, 6, 16, pays));
  EXPECT_FALSE(withSizes(32, 6, 1, pays));
}

// An image lies on a thread's stack, and a core keeps the weights.
TEST(PooledSizes, FitInCaches) {
  auto fits = [](const PooledSizes &sizes) { return sizes.fits(); };
  EXPECT_TRUE(withSizes(32, 64, 16, fits));
  EXPECT_FALSE(withSizes(32, 256, 16, fits));
  EXPECT_FALSE(withSizes(32, 16, 512, fits));
}

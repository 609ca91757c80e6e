// Known values of second moments and inverses, and where two ways give the
// same.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

namespace {

HostTensor gramOf(const HostTensor &x, const std::string &type,
                  const std::string &how) {
  return evaluate("%x: " + type, "%y = gradus.gram %x " + how, {x})[0];
}

HostTensor randomOf(const std::string &type) {
  std::mt19937 bits(11);
  return random(mlir::parseType(type, &context()), bits);
}

HostTensor inverseOf(const std::string &type, const HostTensor &x) {
  return evaluate("%x: " + type, "%y = gradus.inverse %x : " + type, {x})[0];
}

} // namespace

//===-- gram --------------------------------------------------------------===//

TEST(Evaluate, GramIsTheMeanOfProductsOfColumns) {
  HostTensor y =
      gramOf(floats({2, 2}, {1, 2, 3, -4}), "tensor<2x2xf64>",
             "axis 1 block 2 : tensor<2x2xf64> -> tensor<1x2x2xf64>");
  EXPECT_EQ(y.floats, (std::vector<double>{5, -5, -5, 10}));
}

TEST(Evaluate, GramHasZerosWhereTheLastBlockHasNoColumns) {
  HostTensor y =
      gramOf(floats({1, 3}, {1, 2, 3}), "tensor<1x3xf64>",
             "axis 1 block 2 : tensor<1x3xf64> -> tensor<2x2x2xf64>");
  EXPECT_EQ(y.floats, (std::vector<double>{1, 2, 2, 4, 9, 0, 0, 0}));
}

/// The mean over samples of their own products is not the product of means.
TEST(Evaluate, GramOfOppositesIsOne) {
  HostTensor y =
      gramOf(floats({2, 1, 1, 1}, {1, -1}), "tensor<2x1x1x1xf64>",
             "window [1, 1] strides [1, 1] pads [0, 0] to [0, 0] dilations [1, "
             "1] block 1 : tensor<2x1x1x1xf64> -> tensor<1x1x1xf64>");
  EXPECT_EQ(y.floats, std::vector<double>{1});
}

TEST(Evaluate, GramOfPatchesSeesZerosInThePadding) {
  HostTensor y = gramOf(floats({1, 1, 2}, {1, 2}), "tensor<1x1x2xf64>",
                        "window [2] strides [1] pads [1] to [0] dilations [1] "
                        "block 2 : tensor<1x1x2xf64> -> tensor<1x2x2xf64>");
  // The patches are (0, 1) and (1, 2).
  EXPECT_EQ(y.floats, (std::vector<double>{0.5, 1, 1, 2.5}));
}

TEST(Evaluate, GramOfAWindowOfOneIsThatOfTheChannels) {
  HostTensor x = randomOf("tensor<2x5x4x3xf64>");
  HostTensor dense =
      gramOf(x, "tensor<2x5x4x3xf64>",
             "axis 1 block 3 : tensor<2x5x4x3xf64> -> tensor<2x3x3xf64>");
  HostTensor patches =
      gramOf(x, "tensor<2x5x4x3xf64>",
             "window [1, 1] strides [1, 1] pads [0, 0] to [0, 0] dilations [1, "
             "1] block 3 : tensor<2x5x4x3xf64> -> tensor<2x3x3xf64>");
  EXPECT_EQ(patches.floats, dense.floats);
}

TEST(Evaluate, GramOfAWindowOfTheWholeImageIsThatOfItsElements) {
  HostTensor x = randomOf("tensor<6x2x2x3xf64>"), rows = x;
  rows.shape = {6, 12};
  HostTensor dense =
      gramOf(rows, "tensor<6x12xf64>",
             "axis 1 block 5 : tensor<6x12xf64> -> tensor<3x5x5xf64>");
  HostTensor patches =
      gramOf(x, "tensor<6x2x2x3xf64>",
             "window [2, 3] strides [1, 1] pads [0, 0] to [0, 0] dilations [1, "
             "1] block 5 : tensor<6x2x2x3xf64> -> tensor<3x5x5xf64>");
  EXPECT_EQ(patches.floats, dense.floats);
}

TEST(Evaluate, GramOfGroupsIsThatOfEachGroup) {
  HostTensor x = randomOf("tensor<3x4x7xf64>");
  std::string window = "window [3] strides [2] pads [1] to [0] dilations [1] ";
  HostTensor both = gramOf(x, "tensor<3x4x7xf64>",
                           window + "groups 2 block 6 : tensor<3x4x7xf64> -> "
                                    "tensor<2x6x6xf64>");
  for (int64_t group : {0, 1}) {
    HostTensor own = zeros({3, 2, 7});
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t i = 0; i < 14; ++i)
        own.floats[n * 14 + i] = x.floats[n * 28 + group * 14 + i];
    HostTensor alone =
        gramOf(own, "tensor<3x2x7xf64>",
               window + "block 6 : tensor<3x2x7xf64> -> tensor<1x6x6xf64>");
    for (int64_t i = 0; i < 36; ++i)
      EXPECT_EQ(both.floats[group * 36 + i], alone.floats[i]);
  }
}

//===-- inverse -----------------------------------------------------------===//

TEST(Evaluate, InverseOfTwoByTwoIsKnown) {
  HostTensor y = inverseOf("tensor<2x2xf64>", floats({2, 2}, {4, 2, 2, 3}));
  expectNear(y, floats({2, 2}, {0.375, -0.25, -0.25, 0.5}), 1e-15);
}

TEST(Evaluate, InverseTimesTheMatrixIsTheIdentity) {
  const int64_t n = 24;
  HostTensor square = randomOf("tensor<24x24xf64>"), x = zeros({n, n});
  for (int64_t i = 0; i < n * n; ++i)
    for (int64_t p = 0; p < n; ++p)
      x.floats[i] +=
          square.floats[i / n * n + p] * square.floats[i % n * n + p] / n +
          (i / n == i % n ? 0.1 / n : 0);
  HostTensor y = inverseOf("tensor<24x24xf64>", x);
  for (int64_t i = 0; i < n * n; ++i) {
    double sum = 0;
    for (int64_t p = 0; p < n; ++p)
      sum += x.floats[i / n * n + p] * y.floats[p * n + i % n];
    EXPECT_NEAR(sum, i / n == i % n, 1e-10);
    EXPECT_EQ(y.floats[i], y.floats[i % n * n + i / n]);
  }
}

TEST(Evaluate, InverseReadsNothingBelowTheDiagonal) {
  HostTensor y = inverseOf("tensor<2x2xf64>", floats({2, 2}, {4, 2, NAN, 3}));
  EXPECT_EQ(y.floats,
            inverseOf("tensor<2x2xf64>", floats({2, 2}, {4, 2, 2, 3})).floats);
}

TEST(Evaluate, InverseIsNanForAMatrixThatIsNotPositiveDefinite) {
  // Indefinite, of rank one, with NaN and infinite; the last has an inverse.
  HostTensor y =
      inverseOf("tensor<5x2x2xf64>",
                floats({5, 2, 2}, {1, 2, 2, 1, 1, 1,        1, 1, NAN, 0,
                                   0, 1, 1, 0, 0, INFINITY, 4, 0, 0,   16}));
  for (int64_t i = 0; i < 16; ++i)
    EXPECT_TRUE(std::isnan(y.floats[i])) << i;
  EXPECT_EQ(y.floats[16], 0.25);
  EXPECT_EQ(y.floats[19], 0.0625);
}

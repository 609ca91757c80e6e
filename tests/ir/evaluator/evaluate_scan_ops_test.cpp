// Known values of scans, forwards and backwards.

#include "tests/ir/graphs.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// The last sum and the sums before each step, of x along its first dimension.
std::vector<HostTensor> sums(const std::string &how, const HostTensor &x,
                             const HostTensor &factor) {
  return evaluate(
      "%start: tensor<2xf64>, %x: tensor<3x2xf64>, %factor: tensor<2xf64>",
      "%last, %all, %count = gradus.scan 3 " + how +
          " carry(%start : tensor<2xf64>) over(%x : tensor<3x2xf64>) "
          "with(%factor : tensor<2xf64>) body {\n"
          "^bb0(%sum: tensor<2xf64>, %now: tensor<2xf64>, %by: tensor<2xf64>):"
          "%a = arith.mulf %sum, %by : tensor<2xf64>\n"
          "%b = arith.addf %a, %now : tensor<2xf64>\n"
          "%c = arith.constant dense<7> : tensor<i64>\n"
          "gradus.yield %b, %sum, %c : tensor<2xf64>, tensor<2xf64>, "
          "tensor<i64>\n"
          "} -> tensor<2xf64>, tensor<3x2xf64>, tensor<3xi64>",
      {floats({2}, {1, -1}), x, factor});
}

const HostTensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
const HostTensor factor = floats({2}, {2, 1});

} // namespace

TEST(Evaluate, ScanGoesFromStepToStep) {
  std::vector<HostTensor> found = sums("", x, factor);
  EXPECT_EQ(found[0].floats, (std::vector<double>{23, 11}));
  EXPECT_EQ(found[1].floats, (std::vector<double>{1, -1, 3, 1, 9, 5}));
  EXPECT_EQ(found[2].integers, (std::vector<int64_t>{7, 7, 7}));
}

TEST(Evaluate, ScanGoesBackwardsOverPlacesThatStay) {
  std::vector<HostTensor> found = sums("reverse", x, factor);
  EXPECT_EQ(found[0].floats, (std::vector<double>{35, 11}));
  EXPECT_EQ(found[1].floats, (std::vector<double>{17, 9, 7, 5, 1, -1}));
}

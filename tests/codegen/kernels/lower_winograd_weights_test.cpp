// Gradients of weights by the transposed algorithm round at most 2.5 times as
// much as direct ones, 4.5 times where they sum fewer than 512 positions, and
// have the same bits on any number of threads.
//
// Of a direct sum of n products each partial sum is rounded, and these grow as
// the root of their terms: relative to the result its error grows as the root
// of n. What the transforms round is a constant part of each product, and
// relative to the sum of n it stays that part. So where n is small theirs is
// more.

#include "tests/codegen/kernels/winograd_cases.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// The gradient of one weight, by sums in the order of a plain loop.
template <typename Sum>
double weightOf(const WinogradCase &s, const WinogradOperands &of, int64_t k,
                int64_t c, int64_t p, int64_t q) {
  Shape input = s.input(), output = s.output();
  Sum sum = 0;
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t y = 0; y < s.rows(); ++y)
      for (int64_t z = 0; z < s.columns(); ++z) {
        int64_t i = y + p - s.pads.top, j = z + q - s.pads.left;
        if (i < 0 || j < 0 || i >= s.height || j >= s.width)
          continue;
        sum += Sum(of.source.floats[offsetOf(input, n, c, i, j)]) *
               Sum(of.other.floats[offsetOf(output, n, k, y, z)]);
      }
  return double(sum);
}

template <typename Sum>
Numbers direct(const WinogradCase &s, const WinogradOperands &of) {
  Numbers result;
  for (int64_t k = 0; k < s.outputs; ++k)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t p = 0; p < 3; ++p)
        for (int64_t q = 0; q < 3; ++q)
          result.push_back(weightOf<Sum>(s, of, k, c, p, q));
  return result;
}

class WinogradWeights : public ::testing::TestWithParam<WinogradCase> {};

std::vector<WinogradCase> gradientsOfWeights(std::vector<WinogradCase> cases) {
  for (WinogradCase &each : cases)
    each.kind = plan::WinogradKind::weight_gradient;
  return cases;
}

const std::vector<WinogradCase> cases = gradientsOfWeights({
    // Whole tiles, and groups of images or of rows.
    {8, 32, 32, 4, 4},
    {32, 32, 16, 4, 4},
    {2, 64, 64, 16, 16},
    {1, 32, 32, 32, 32},
    // Several parts, of which the last has fewer groups.
    {34, 16, 16, 8, 8},
    {3, 16, 32, 24, 56},
    // Ragged tiles.
    {8, 32, 32, 7, 7},
    {4, 48, 32, 14, 14},
    {1, 32, 32, 57, 20},
    {5, 16, 32, 9, 33},
    {7, 32, 16, 13, 6},
    // Blocks of channels and of outputs.
    {8, 128, 160, 4, 4},
    {4, 96, 80, 8, 8},
    // Paddings, also of different sides.
    {4, 32, 32, 14, 14, {0, 0, 0, 0}},
    {4, 32, 32, 14, 14, {2, 2, 2, 2}},
    {8, 16, 32, 5, 6, {0, 0, 0, 0}},
    {8, 32, 16, 5, 6, {2, 2, 2, 2}},
    {4, 32, 32, 14, 13, {0, 2, 1, 0}},
    {4, 32, 16, 14, 13, {2, 0, 0, 2}},
});

} // namespace

TEST_P(WinogradWeights, RoundAtMostSomeTimesMoreThanDirectOnes) {
  const WinogradCase &s = GetParam();
  WinogradOperands operands(s);
  Numbers exact = direct<double>(s, operands),
          plain = direct<float>(s, operands), found = resultOf(s, operands);
  ASSERT_EQ(found.size(), exact.size());
  double size = distance(exact, Numbers(exact.size())),
         times = s.positions() < 512 ? 4.5 : 2.5;
  RecordProperty(
      "times", std::to_string(distance(found, exact) / distance(plain, exact)));
  RecordProperty("error", std::to_string(1e7 * distance(found, exact) / size));
  EXPECT_LE(distance(found, exact), times * distance(plain, exact));
}

TEST_P(WinogradWeights, HaveTheSameBitsOnAnyNumberOfThreads) {
  expectTheSameBitsOnAnyNumberOfThreads(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Shapes, WinogradWeights, ::testing::ValuesIn(cases));

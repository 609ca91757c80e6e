// Gradients of weights by the transposed algorithm round at most 2.5 times as
// much as direct ones, 4.5 times where they sum fewer than 512 positions, twice
// with tiles of 2x2, and have the same bits on any number of threads.
//
// Of a direct sum of n products each partial sum is rounded, and these grow as
// the root of their terms: relative to the result its error grows as the root
// of n. What the transforms round is a constant part of each product, and
// relative to the sum of n it stays that part. So where n is small theirs is
// more.
//
// Products of bf16 have so few digits that many direct sums of them are exact,
// while transforms round them like others: allowed is what is with operands of
// f32.

#include "tests/codegen/kernels/winograd_cases.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// The gradient of one weight, by sums in the order of a plain loop.
PlainSum weightOf(const WinogradCase &s, const WinogradOperands &of, int64_t k,
                  int64_t c, int64_t p, int64_t q) {
  Shape input = s.input(), output = s.output();
  PlainSum sum;
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t y = 0; y < s.rows(); ++y)
      for (int64_t z = 0; z < s.columns(); ++z) {
        int64_t i = y + p - s.pads.top, j = z + q - s.pads.left;
        if (i < 0 || j < 0 || i >= s.height || j >= s.width)
          continue;
        sum.add(of.source.floats[offsetOf(input, n, c, i, j)],
                of.other.floats[offsetOf(output, n, k, y, z)]);
      }
  return sum;
}

PlainSums direct(const WinogradCase &s, const WinogradOperands &of) {
  PlainSums result;
  for (int64_t k = 0; k < s.outputs; ++k)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t p = 0; p < 3; ++p)
        for (int64_t q = 0; q < 3; ++q) {
          PlainSum sum = weightOf(s, of, k, c, p, q);
          result.exact.push_back(sum.exact);
          result.plain.push_back(sum.plain);
        }
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
    // Operands of 16 bits, with one part and with several.
    narrow({8, 32, 16, 5, 6, {2, 2, 2, 2}}, "f32"),
    narrow({8, 128, 160, 4, 4}),
    narrow({34, 16, 16, 8, 8}),
    // Tiles of 2x2: whole and ragged ones, parts, blocks and paddings.
    small({64, 32, 32, 2, 2}),
    small({1, 32, 32, 32, 32}),
    small({34, 16, 16, 6, 6}),
    small({5, 16, 32, 9, 33}),
    small({8, 128, 160, 4, 4}),
    small({8, 32, 16, 5, 6, {2, 2, 2, 2}}),
    small({4, 32, 16, 14, 13, {2, 0, 0, 2}}),
    small(narrow({34, 16, 16, 8, 8})),
});

} // namespace

TEST_P(WinogradWeights, RoundAtMostSomeTimesMoreThanDirectOnes) {
  const WinogradCase &s = GetParam();
  WinogradOperands operands(s);
  PlainSums sums = direct(s, operands);
  WinogradCase wide = s;
  wide.from = wide.to = "f32";
  double times = s.tile == 2           ? 2
                 : s.positions() < 512 ? 4.5
                                       : 2.5,
         unit = s.from == "f32" ? sums.error()
                                : direct(wide, WinogradOperands(wide)).error();
  expectSums(s, operands, sums, times * unit);
}

INSTANTIATE_TEST_SUITE_P(Shapes, WinogradWeights, ::testing::ValuesIn(cases));

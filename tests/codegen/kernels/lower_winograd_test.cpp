// The kernels of Winograd's algorithm compute convolutions and gradients of
// inputs, with rounding errors at most 4.5 times those of a direct convolution
// in f32, with tiles of 2x2 twice those, and the same bits on any number of
// threads.

#include "tests/codegen/kernels/winograd_cases.h"

#include <numbers>

using namespace gradus;
using namespace gradus::test;

namespace {

constexpr auto kInputGradient = plan::WinogradKind::input_gradient;

/// What the epilogue makes of a sum with its bias.
double epilogueOf(const std::string &name, double x) {
  if (name == "relu")
    return std::max(x, 0.0);
  if (name == "tanh")
    return std::tanh(x);
  if (name == "sigmoid")
    return 1 / (1 + std::exp(-x));
  if (name == "gelu_erf")
    return x * (1 + std::erf(x / std::numbers::sqrt2)) / 2;
  if (name == "gelu_tanh")
    return x *
           (1 + std::tanh(std::numbers::sqrt2 * std::numbers::inv_sqrtpi *
                          (x + 0.044715 * x * x * x))) /
           2;
  return x;
}

/// The sum over the window and the channels of `source` for one element of the
/// result, in the order of a plain loop.
PlainSum sumOf(const WinogradCase &s, const WinogradOperands &of, int64_t n,
               int64_t k, int64_t y, int64_t z) {
  bool isGradient = s.is(kInputGradient);
  Shape source = s.source();
  int64_t channels = source[1] * 16, results = s.result()[1] * 16,
          top = isGradient ? 2 - s.pads.top : s.pads.top,
          left = isGradient ? 2 - s.pads.left : s.pads.left;
  PlainSum sum;
  for (int64_t p = 0; p < 3; ++p)
    for (int64_t q = 0; q < 3; ++q) {
      int64_t i = y + p - top, j = z + q - left;
      if (i < 0 || j < 0 || i >= source[2] || j >= source[3])
        continue;
      for (int64_t c = 0; c < channels; ++c) {
        size_t weight = isGradient ? ((c * results + k) * 3 + 2 - p) * 3 + 2 - q
                                   : ((k * channels + c) * 3 + p) * 3 + q;
        sum.add(of.source.floats[offsetOf(source, n, c, i, j)],
                of.other.floats[weight]);
      }
    }
  return sum;
}

/// A direct convolution or gradient of one, over blocked channels.
PlainSums direct(const WinogradCase &s, const WinogradOperands &of) {
  Shape shape = s.result();
  PlainSums result;
  result.exact.resize(size_t(shape[0] * shape[1] * shape[2] * shape[3] * 16));
  result.plain = result.exact;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t k = 0; k < shape[1] * 16; ++k)
      for (int64_t y = 0; y < shape[2]; ++y)
        for (int64_t z = 0; z < shape[3]; ++z) {
          PlainSum sum = sumOf(s, of, n, k, y, z);
          auto behind = [&](double x) {
            return s.epilogue.empty()
                       ? x
                       : epilogueOf(s.epilogue, x + of.bias.floats[size_t(k)]);
          };
          size_t at = offsetOf(shape, n, k, y, z);
          result.exact[at] = behind(sum.exact);
          result.plain[at] = behind(sum.plain);
        }
  return result;
}

class Winograd : public ::testing::TestWithParam<WinogradCase> {};

const WinogradCase cases[] = {
    // Whole and ragged tiles, in and beyond one item.
    {2, 32, 32, 4, 4},
    {1, 32, 64, 7, 7},
    {3, 16, 48, 14, 14},
    {1, 32, 32, 32, 32},
    {5, 64, 32, 9, 33},
    {7, 32, 16, 13, 6},
    {1, 16, 16, 3, 3},
    {1, 32, 32, 57, 20},
    // Few tiles and many weights, by outputs.
    {2, 128, 160, 7, 7},
    {1, 256, 32, 8, 8},
    // Paddings, also of different sides.
    {2, 32, 32, 14, 14, {0, 0, 0, 0}},
    {2, 32, 32, 14, 14, {2, 2, 2, 2}},
    {1, 48, 32, 5, 6, {0, 0, 0, 0}},
    {1, 32, 48, 5, 6, {2, 2, 2, 2}},
    {9, 32, 32, 16, 12, {2, 2, 2, 2}},
    {2, 32, 32, 14, 13, {0, 2, 1, 0}},
    {2, 32, 32, 14, 13, {2, 0, 0, 2}},
    {2, 128, 160, 7, 6, {0, 2, 1, 0}},
    {2, 128, 160, 7, 6, {2, 0, 0, 2}},
    // Epilogues.
    {2, 32, 48, 14, 14, {}, plan::WinogradKind::forward, "bias"},
    {8, 32, 32, 32, 8, {}, plan::WinogradKind::forward, "relu"},
    {2, 128, 128, 4, 4, {}, plan::WinogradKind::forward, "relu"},
    {2, 32, 32, 8, 8, {}, plan::WinogradKind::forward, "tanh"},
    {2, 32, 32, 8, 8, {}, plan::WinogradKind::forward, "sigmoid"},
    {2, 32, 32, 8, 8, {}, plan::WinogradKind::forward, "gelu_erf"},
    {2, 32, 32, 8, 8, {}, plan::WinogradKind::forward, "gelu_tanh"},
    // Gradients.
    {2, 32, 32, 4, 4, {}, kInputGradient},
    {3, 48, 16, 14, 14, {}, kInputGradient},
    {2, 128, 160, 7, 7, {}, kInputGradient},
    {2, 32, 64, 14, 14, {0, 0, 0, 0}, kInputGradient},
    {2, 64, 32, 14, 14, {2, 2, 2, 2}, kInputGradient},
    {5, 32, 64, 33, 9, {}, kInputGradient},
    {2, 32, 64, 14, 13, {0, 2, 1, 0}, kInputGradient},
    {2, 64, 32, 14, 13, {2, 0, 0, 2}, kInputGradient},
    {2, 128, 160, 7, 6, {0, 2, 1, 0}, kInputGradient},
    // Operands of 16 bits, and results that are rounded once.
    narrow({3, 16, 48, 14, 14}),
    narrow({1, 32, 32, 7, 7}, "f32"),
    narrow({2, 32, 32, 8, 8, {}, plan::WinogradKind::forward, "gelu_tanh"}),
    narrow({2, 128, 160, 7, 6, {0, 2, 1, 0}}),
    narrow({2, 32, 64, 14, 13, {0, 2, 1, 0}, kInputGradient}),
    narrow({2, 128, 160, 7, 7, {}, kInputGradient}),
    // Tiles of 2x2: whole and ragged ones, by tiles and by outputs.
    small({2, 32, 32, 2, 2}),
    small({1, 32, 64, 5, 5}),
    small({3, 16, 48, 6, 6}),
    small({1, 32, 32, 32, 32}),
    small({5, 64, 32, 9, 33}),
    small({1, 16, 16, 1, 1}),
    small({2, 128, 160, 7, 7}),
    small({1, 256, 32, 6, 6}),
    small({40, 64, 32, 6, 5}),
    small({2, 32, 32, 14, 14, {0, 0, 0, 0}}),
    small({1, 32, 48, 5, 6, {2, 2, 2, 2}}),
    small({2, 32, 32, 14, 13, {0, 2, 1, 0}}),
    small({2, 128, 160, 7, 6, {2, 0, 0, 2}}),
    small({2, 32, 48, 6, 6, {}, plan::WinogradKind::forward, "relu"}),
    small({2, 128, 128, 4, 4, {}, plan::WinogradKind::forward, "gelu_erf"}),
    small({3, 48, 16, 6, 6, {}, kInputGradient}),
    small({2, 64, 32, 14, 14, {2, 2, 2, 2}, kInputGradient}),
    small({2, 32, 64, 14, 13, {0, 2, 1, 0}, kInputGradient}),
    small({2, 128, 160, 7, 6, {0, 2, 1, 0}, kInputGradient}),
    small(narrow({2, 128, 160, 7, 6, {0, 2, 1, 0}})),
    small(narrow({3, 16, 48, 6, 6})),
};

} // namespace

TEST_P(Winograd, RoundsAtMostSomeTimesMoreThanADirectConvolution) {
  const WinogradCase &s = GetParam();
  WinogradOperands operands(s);
  PlainSums sums = direct(s, operands);
  // The plain loop's sums are long, and round more than a library's, of which
  // 2.2e-7 was measured.
  double size = sums.size(), unit = std::min(sums.error(), 2.2e-7 * size);
  double times = s.tile == 4 ? 4.5 : 2;
  expectSums(s, operands, sums, times * std::max(unit, 1.5e-7 * size));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Winograd, ::testing::ValuesIn(cases));

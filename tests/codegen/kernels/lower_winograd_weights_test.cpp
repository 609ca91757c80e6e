// Gradients of weights by the transposed algorithm round at most 2.5 times as
// much as direct ones, 4.5 times where they sum fewer than 512 positions, and
// have the same bits on any number of threads.
//
// Of a direct sum of n products each partial sum is rounded, and these grow as
// the root of their terms: relative to the result its error grows as the root
// of n. What the transforms round is a constant part of each product, and
// relative to the sum of n it stays that part. So where n is small theirs is
// more.

#include "tests/end_to_end/compiled.h"

#include <cmath>
#include <random>

using namespace gradus;

namespace {

using Numbers = std::vector<double>;

struct Spec {
  int64_t images, channels, outputs, height, width, pad = 1;

  int64_t rows() const { return height + 2 * pad - 2; }
  int64_t columns() const { return width + 2 * pad - 2; }
  int64_t positions() const { return images * rows() * columns(); }
};

void PrintTo(const Spec &s, std::ostream *out) {
  *out << s.images << "x" << s.channels << "x" << s.height << "x" << s.width
       << " to " << s.outputs << " pad " << s.pad;
}

std::string typeOf(llvm::ArrayRef<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

std::string programOf(const Spec &s) {
  std::string x = typeOf({s.images, s.channels / 16, s.height, s.width, 16}),
              g = typeOf({s.images, s.outputs / 16, s.rows(), s.columns(), 16}),
              w = typeOf({s.outputs, s.channels, 3, 3}),
              pad = std::to_string(s.pad);
  return "gradus.program @p {\ngradus.graph @g(%x: " + x + ", %g: " + g +
         ") -> (w: " + w + ") {\n%w = plan.winograd weight_gradient %x, %g " +
         "pads [" + pad + ", " + pad + "] : " + x + ", " + g + " -> " + w +
         "\ngradus.return %w : " + w + "\n}\n}\n";
}

HostTensor normal(llvm::ArrayRef<int64_t> shape, unsigned seed) {
  HostTensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.floats.push_back(normal(bits));
  return tensor;
}

/// Where an element of blocked channels is.
size_t placeOf(int64_t channels, int64_t rows, int64_t columns, int64_t n,
               int64_t c, int64_t y, int64_t x) {
  return (((n * channels / 16 + c / 16) * rows + y) * columns + x) * 16 +
         c % 16;
}

/// The gradient of one weight, by sums in the order of a plain loop.
template <typename Sum>
double weightOf(const Spec &s, const HostTensor &x, const HostTensor &g,
                int64_t k, int64_t c, int64_t p, int64_t q) {
  Sum sum = 0;
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t y = 0; y < s.rows(); ++y)
      for (int64_t z = 0; z < s.columns(); ++z) {
        int64_t i = y + p - s.pad, j = z + q - s.pad;
        if (i < 0 || j < 0 || i >= s.height || j >= s.width)
          continue;
        sum +=
            Sum(x.floats[placeOf(s.channels, s.height, s.width, n, c, i, j)]) *
            Sum(g.floats[placeOf(s.outputs, s.rows(), s.columns(), n, k, y,
                                 z)]);
      }
  return double(sum);
}

template <typename Sum>
Numbers direct(const Spec &s, const HostTensor &x, const HostTensor &g) {
  Numbers result;
  for (int64_t k = 0; k < s.outputs; ++k)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t p = 0; p < 3; ++p)
        for (int64_t q = 0; q < 3; ++q)
          result.push_back(weightOf<Sum>(s, x, g, k, c, p, q));
  return result;
}

/// The root of the mean of squares of differences.
double distance(const Numbers &a, const Numbers &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / double(a.size()));
}

struct Inputs {
  HostTensor x, g;

  explicit Inputs(const Spec &s)
      : x(normal({s.images, s.channels / 16, s.height, s.width, 16}, 1)),
        g(normal({s.images, s.outputs / 16, s.rows(), s.columns(), 16}, 2)) {}
};

class WinogradWeights : public ::testing::TestWithParam<Spec> {};

const Spec specs[] = {
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
    // Paddings.
    {4, 32, 32, 14, 14, 0},
    {4, 32, 32, 14, 14, 2},
    {8, 16, 32, 5, 6, 0},
    {8, 32, 16, 5, 6, 2},
};

} // namespace

TEST_P(WinogradWeights, RoundAtMostSomeTimesMoreThanDirectOnes) {
  const Spec &s = GetParam();
  Inputs in(s);
  Numbers exact = direct<double>(s, in.x, in.g),
          plain = direct<float>(s, in.x, in.g),
          found = Compiled(programOf(s))
                      .run("g", {{"x", in.x}, {"g", in.g}})["w"]
                      .floats;
  ASSERT_EQ(found.size(), exact.size());
  double size = distance(exact, Numbers(exact.size())),
         times = s.positions() < 512 ? 4.5 : 2.5;
  RecordProperty(
      "times", std::to_string(distance(found, exact) / distance(plain, exact)));
  RecordProperty("error", std::to_string(1e7 * distance(found, exact) / size));
  EXPECT_LE(distance(found, exact), times * distance(plain, exact));
}

TEST_P(WinogradWeights, HaveTheSameBitsOnAnyNumberOfThreads) {
  const Spec &s = GetParam();
  Inputs in(s);
  std::vector<char> bytes = artifactOf(programOf(s));
  Numbers first;
  for (int threads : {1, 2, 5}) {
    runtime::SessionOptions options;
    options.threads = threads;
    Numbers found = Compiled(bytes, options)
                        .run("g", {{"x", in.x}, {"g", in.g}})["w"]
                        .floats;
    if (first.empty())
      first = found;
    EXPECT_EQ(found, first) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, WinogradWeights, ::testing::ValuesIn(specs));

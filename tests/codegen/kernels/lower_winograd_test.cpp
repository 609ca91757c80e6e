// The kernels of Winograd's algorithm compute convolutions and gradients of
// inputs, with rounding errors at most 4.5 times those of a direct convolution,
// and the same bits on any number of threads.

#include "tests/end_to_end/compiled.h"

#include <cmath>
#include <random>

using namespace gradus;

namespace {

using Numbers = std::vector<double>;

struct Spec {
  int64_t images, channels, outputs, height, width, pad = 1;
  bool isGradient = false;
  std::string epilogue = {}; // "bias" or an activation with one

  int64_t rows() const { return height + 2 * pad - 2; }
  int64_t columns() const { return width + 2 * pad - 2; }
};

void PrintTo(const Spec &s, std::ostream *out) {
  *out << (s.isGradient ? "gradient " : "forward ") << s.images << "x"
       << s.channels << "x" << s.height << "x" << s.width << " to " << s.outputs
       << " pad " << s.pad << " " << s.epilogue;
}

std::string typeOf(llvm::ArrayRef<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

std::string blocksOf(int64_t images, int64_t channels, int64_t rows,
                     int64_t columns) {
  return typeOf({images, channels / 16, rows, columns, 16});
}

/// A program whose graph `@g` is one op of `x`, `w` and perhaps `b`.
std::string programOf(const Spec &s) {
  std::string x = blocksOf(s.images, s.channels, s.height, s.width),
              y = blocksOf(s.images, s.outputs, s.rows(), s.columns()),
              w = typeOf({s.outputs, s.channels, 3, 3}),
              b = typeOf({s.outputs});
  std::string from = s.isGradient ? y : x, to = s.isGradient ? x : y;
  bool hasBias = !s.epilogue.empty();
  std::string op = s.isGradient ? "input_gradient %x, %w" : "forward %x, %w";
  return "gradus.program @p {\ngradus.graph @g(%x: " + from + ", %w: " + w +
         (hasBias ? ", %b: " + b : "") + ") -> (y: " + to + ") {\n" +
         "%y = plan.winograd " + op + (hasBias ? " bias %b" : "") + " pads [" +
         std::to_string(s.pad) + ", " + std::to_string(s.pad) + "]" +
         (hasBias && s.epilogue != "bias"
              ? " {activation = \"" + s.epilogue + "\"}"
              : "") +
         " : " + from + ", " + w + (hasBias ? ", " + b : "") + " -> " + to +
         "\ngradus.return %y : " + to + "\n}\n}\n";
}

/// Normal numbers as f32 has them.
HostTensor normal(llvm::ArrayRef<int64_t> shape, unsigned seed,
                  double deviation = 1) {
  HostTensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, float(deviation));
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

/// A direct convolution or gradient of one in `Sum`, over blocked channels. A
/// sum in f32 is in the order of a plain loop.
template <typename Sum>
Numbers direct(const Spec &s, const HostTensor &x, const HostTensor &w,
               const HostTensor *bias) {
  int64_t from = s.isGradient ? s.outputs : s.channels,
          to = s.isGradient ? s.channels : s.outputs,
          fromRows = s.isGradient ? s.rows() : s.height,
          fromColumns = s.isGradient ? s.columns() : s.width,
          rows = s.isGradient ? s.height : s.rows(),
          columns = s.isGradient ? s.width : s.columns(),
          pad = s.isGradient ? 2 - s.pad : s.pad;
  Numbers result(size_t(s.images * to * rows * columns));
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t k = 0; k < to; ++k)
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t z = 0; z < columns; ++z) {
          Sum sum = 0;
          for (int64_t p = 0; p < 3; ++p)
            for (int64_t q = 0; q < 3; ++q) {
              int64_t i = y + p - pad, j = z + q - pad;
              if (i < 0 || j < 0 || i >= fromRows || j >= fromColumns)
                continue;
              for (int64_t c = 0; c < from; ++c) {
                size_t weight = s.isGradient
                                    ? ((c * to + k) * 3 + 2 - p) * 3 + 2 - q
                                    : ((k * from + c) * 3 + p) * 3 + q;
                sum += Sum(x.floats[placeOf(from, fromRows, fromColumns, n, c,
                                            i, j)]) *
                       Sum(w.floats[weight]);
              }
            }
          double value = double(sum) + (bias ? bias->floats[k] : 0);
          if (s.epilogue == "relu")
            value = std::max(value, 0.0);
          if (s.epilogue == "tanh")
            value = std::tanh(value);
          result[placeOf(to, rows, columns, n, k, y, z)] = value;
        }
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
  HostTensor x, w, b;

  explicit Inputs(const Spec &s)
      : x(s.isGradient
              ? normal({s.images, s.outputs / 16, s.rows(), s.columns(), 16}, 1)
              : normal({s.images, s.channels / 16, s.height, s.width, 16}, 1)),
        w(normal({s.outputs, s.channels, 3, 3}, 2,
                 std::sqrt(2.0 / double(9 * s.channels)))),
        b(normal({s.outputs}, 3)) {}

  NamedTensors named(const Spec &s) const {
    NamedTensors all = {{"x", x}, {"w", w}};
    if (!s.epilogue.empty())
      all["b"] = b;
    return all;
  }
};

class Winograd : public ::testing::TestWithParam<Spec> {};

const Spec specs[] = {
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
    // Paddings.
    {2, 32, 32, 14, 14, 0},
    {2, 32, 32, 14, 14, 2},
    {1, 48, 32, 5, 6, 0},
    {1, 32, 48, 5, 6, 2},
    {9, 32, 32, 16, 12, 2},
    // Epilogues.
    {2, 32, 48, 14, 14, 1, false, "bias"},
    {8, 32, 32, 32, 8, 1, false, "relu"},
    {2, 128, 128, 4, 4, 1, false, "relu"},
    {2, 32, 32, 8, 8, 1, false, "tanh"},
    // Gradients.
    {2, 32, 32, 4, 4, 1, true},
    {3, 48, 16, 14, 14, 1, true},
    {2, 128, 160, 7, 7, 1, true},
    {2, 32, 64, 14, 14, 0, true},
    {2, 64, 32, 14, 14, 2, true},
    {5, 32, 64, 33, 9, 1, true},
};

} // namespace

TEST_P(Winograd, RoundsAtMostSomeTimesMoreThanADirectConvolution) {
  const Spec &s = GetParam();
  Inputs in(s);
  const HostTensor *bias = s.epilogue.empty() ? nullptr : &in.b;
  Numbers exact = direct<double>(s, in.x, in.w, bias),
          plain = direct<float>(s, in.x, in.w, bias),
          found = Compiled(programOf(s)).run("g", in.named(s))["y"].floats;
  ASSERT_EQ(found.size(), exact.size());
  // The plain loop's sums are long, and round more than a library's, of which
  // 2.2e-7 was measured.
  double size = distance(exact, Numbers(exact.size())),
         unit = std::min(distance(plain, exact), 2.2e-7 * size);
  EXPECT_LE(distance(found, exact), 4.5 * std::max(unit, 1.5e-7 * size));
}

TEST_P(Winograd, HasTheSameBitsOnAnyNumberOfThreads) {
  const Spec &s = GetParam();
  Inputs in(s);
  std::vector<char> bytes = artifactOf(programOf(s));
  Numbers first;
  for (int threads : {1, 2, 5}) {
    runtime::SessionOptions options;
    options.threads = threads;
    Numbers found = Compiled(bytes, options).run("g", in.named(s))["y"].floats;
    if (first.empty())
      first = found;
    EXPECT_EQ(found, first) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Winograd, ::testing::ValuesIn(specs));

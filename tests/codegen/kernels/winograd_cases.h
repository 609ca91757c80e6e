// What the tests of Winograd's kernels share: a convolution or a gradient of
// one as a program, its tensors, and how far its result may be from plain sums.
#pragma once

#include "tests/end_to_end/compiled.h"

#include <bit>
#include <cmath>
#include <random>

namespace gradus::test {

using Numbers = std::vector<double>;
using Shape = std::vector<int64_t>;

/// Zeros around an input.
struct WinogradPads {
  int64_t top = 1, left = 1, bottom = 1, right = 1;
};

/// A convolution from `channels` to `outputs`, or a gradient of it.
struct WinogradCase {
  int64_t images, channels, outputs, height, width;
  WinogradPads pads = {};
  plan::WinogradKind kind = plan::WinogradKind::forward;
  std::string epilogue = {}; // "bias" or an activation with one
  // The elements of operands and of the result.
  std::string from = "f32", to = "f32";
  int64_t tile = 4;

  bool is(plan::WinogradKind one) const { return kind == one; }
  int64_t rows() const { return height + pads.top + pads.bottom - 2; }
  int64_t columns() const { return width + pads.left + pads.right - 2; }
  int64_t positions() const { return images * rows() * columns(); }

  Shape input() const { return {images, channels / 16, height, width, 16}; }
  Shape output() const { return {images, outputs / 16, rows(), columns(), 16}; }
  Shape weights() const { return {outputs, channels, 3, 3}; }
  /// The shapes of the op's operands and of its result.
  Shape source() const {
    return is(plan::WinogradKind::input_gradient) ? output() : input();
  }
  Shape other() const {
    return is(plan::WinogradKind::weight_gradient) ? output() : weights();
  }
  Shape result() const {
    return is(plan::WinogradKind::forward)          ? output()
           : is(plan::WinogradKind::input_gradient) ? input()
                                                    : weights();
  }
};

inline void PrintTo(const WinogradCase &c, std::ostream *out) {
  *out << plan::stringifyWinogradKind(c.kind).str() << " " << c.images << "x"
       << c.channels << "x" << c.height << "x" << c.width << " to " << c.outputs
       << " tile " << c.tile << " pads " << c.pads.top << " " << c.pads.left
       << " " << c.pads.bottom << " " << c.pads.right << " " << c.epilogue
       << " " << c.from << " to " << c.to;
}

/// The case with operands of bf16.
inline WinogradCase narrow(WinogradCase c, const std::string &to = "bf16") {
  c.from = "bf16";
  c.to = to;
  return c;
}

/// The case with tiles of 2x2 outputs.
inline WinogradCase small(WinogradCase c) {
  c.tile = 2;
  return c;
}

inline std::string typeOf(const Shape &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

/// A program whose graph `@g` is one op: of `source`, `other` and perhaps
/// `bias` to `result`.
inline std::string programOf(const WinogradCase &c) {
  std::string source = typeOf(c.source(), c.from),
              other = typeOf(c.other(), c.from),
              bias = typeOf({c.outputs}, c.from),
              result = typeOf(c.result(), c.to),
              pads = std::to_string(c.pads.top) + ", " +
                     std::to_string(c.pads.left);
  bool hasBias = !c.epilogue.empty();
  return "gradus.program @p {\ngradus.graph @g(%source: " + source +
         ", %other: " + other + (hasBias ? ", %bias: " + bias : "") +
         ") -> (result: " + result + ") {\n%result = plan.winograd " +
         plan::stringifyWinogradKind(c.kind).str() + " %source, %other" +
         (hasBias ? " bias %bias" : "") + " pads [" + pads + "] {" +
         (hasBias && c.epilogue != "bias"
              ? "activation = \"" + c.epilogue + "\", "
              : "") +
         "tile = " + std::to_string(c.tile) + " : i64}" + " : " + source +
         ", " + other + (hasBias ? ", " + bias : "") + " -> " + result +
         "\ngradus.return %result : " + result + "\n}\n}\n";
}

/// The nearest number that bf16 has, the upper half of f32: of two as near the
/// even one.
inline double roundedToBf16(double number) {
  auto bits = std::bit_cast<uint32_t>(float(number));
  bits += 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000);
}

/// Normal numbers as f32 or bf16 has them.
inline HostTensor normal(const Shape &shape, const std::string &element,
                         unsigned seed, double deviation = 1) {
  HostTensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, float(deviation));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double number = normal(bits);
    tensor.floats.push_back(element == "bf16" ? roundedToBf16(number) : number);
  }
  return tensor;
}

/// The operands of the op; weights keep the size of what passes.
struct WinogradOperands {
  HostTensor source, other, bias;

  explicit WinogradOperands(const WinogradCase &c)
      : source(normal(c.source(), c.from, 1)),
        other(normal(c.other(), c.from, 2,
                     c.is(plan::WinogradKind::weight_gradient)
                         ? 1
                         : std::sqrt(2.0 / double(9 * c.channels)))),
        bias(normal({c.outputs}, c.from, 3)) {}

  NamedTensors named(const WinogradCase &c) const {
    NamedTensors all = {{"source", source}, {"other", other}};
    if (!c.epilogue.empty())
      all["bias"] = bias;
    return all;
  }
};

/// The offset of an element of blocked channels.
inline size_t offsetOf(const Shape &shape, int64_t n, int64_t c, int64_t y,
                       int64_t x) {
  return (((n * shape[1] + c / 16) * shape[2] + y) * shape[3] + x) * 16 +
         c % 16;
}

/// The root of the mean of squares of differences.
inline double distance(const Numbers &a, const Numbers &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / double(a.size()));
}

/// One sum in f64 and in f32, in the order in which terms are added.
struct PlainSum {
  double exact = 0;
  float plain = 0;

  void add(double a, double b) {
    exact += a * b;
    plain += float(a) * float(b);
  }
};

/// All sums of a case.
struct PlainSums {
  Numbers exact, plain;

  /// The root of the mean of squares of results, and that of plain sums'
  /// errors.
  double size() const { return distance(exact, Numbers(exact.size())); }
  double error() const { return distance(plain, exact); }
};

/// Expects kernels to compute what `sums` are, with errors of at most `allowed`
/// (as a root of the mean of squares), and the same bits on any number of
/// threads.
///
/// A result of bf16 is x + e, rounded. That is no farther from x + e than the
/// rounded x is, so from x by the error of the rounded x and 2 e at most.
inline void expectSums(const WinogradCase &c, const WinogradOperands &operands,
                       const PlainSums &sums, double allowed) {
  if (c.to == "bf16") {
    Numbers rounded;
    for (double exact : sums.exact)
      rounded.push_back(roundedToBf16(exact));
    allowed = distance(rounded, sums.exact) + 2 * allowed;
  }
  std::vector<char> bytes = artifactOf(programOf(c));
  Numbers first;
  for (int threads : {1, 2, 5}) {
    runtime::SessionOptions options;
    options.threads = threads;
    Numbers found =
        Compiled(bytes, options).run("g", operands.named(c))["result"].floats;
    if (first.empty())
      first = found;
    EXPECT_EQ(found, first) << threads;
  }
  ASSERT_EQ(first.size(), sums.exact.size());
  EXPECT_LE(distance(first, sums.exact), allowed);
}

} // namespace gradus::test

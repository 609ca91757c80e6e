// Large matmuls of bf16, and gradients of weights of f32, compute the sums of
// products, in whole and in ragged tiles, panels and parts of sums, and the
// same bits on any number of threads. They are kernels of our own where the
// processor multiplies pairs of bf16 and has no tiles (AMX), which
// tests/codegen/targets tells; elsewhere the library's.

#include "tests/codegen/kernels/winograd_cases.h"

using namespace gradus;
using namespace gradus::test;

namespace {

struct Case {
  int64_t rows, inner, columns;
  bool leftIsTransposed = false, rightIsTransposed = false;
  std::string to = "f32";
  bool hasBias = false;
  std::string of = "bf16";

  Shape left() const {
    return leftIsTransposed ? Shape{inner, rows} : Shape{rows, inner};
  }
  Shape right() const {
    return rightIsTransposed ? Shape{columns, inner} : Shape{inner, columns};
  }
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.rows << " x " << c.inner << " x " << c.columns;
}

std::string programOf(const Case &c) {
  std::string left = typeOf(c.left(), c.of), right = typeOf(c.right(), c.of),
              bias = typeOf({c.columns}, "f32"),
              sums = typeOf({c.rows, c.columns}, "f32"),
              result = typeOf({c.rows, c.columns}, c.to), last = "%sums";
  std::string text =
      "gradus.program @p {\ngradus.graph @g(%left: " + left +
      ", %right: " + right + (c.hasBias ? ", %bias: " + bias : "") +
      ") -> (result: " + result + ") {\n%sums = gradus.matmul %left" +
      (c.leftIsTransposed ? " transposed" : "") + ", %right" +
      (c.rightIsTransposed ? " transposed" : "") + " : " + left + ", " + right +
      " -> " + sums + "\n";
  if (c.hasBias) {
    text += "%all = gradus.broadcast %bias dims [1] : " + bias + " -> " + sums +
            "\n%with = arith.addf %sums, %all : " + sums + "\n";
    last = "%with";
  }
  if (c.to != "f32") {
    text += "%result = arith.truncf " + last + " : " + sums + " to " + result +
            "\n";
    last = "%result";
  }
  return text + "gradus.return " + last + " : " + result + "\n}\n}\n";
}

/// Matrices of random numbers, and a bias.
struct Operands {
  HostTensor left, right, bias;
  NamedTensors named; // those that the program has

  explicit Operands(const Case &c)
      : left(normal(c.left(), c.of, 1)), right(normal(c.right(), c.of, 2)),
        bias(normal({c.columns}, "f32", 3)),
        named({{"left", left}, {"right", right}}) {
    if (c.hasBias)
      named["bias"] = bias;
  }
};

/// Sums in f64, and for each a bound of the error of a sum in f32 in any order:
/// that many roundings of the sum of sizes.
struct Sums {
  Numbers exact, bounds;

  Sums(const Case &c, const Operands &operands) {
    const HostTensor &left = operands.left, &right = operands.right,
                     &bias = operands.bias;
    auto at = [](const HostTensor &matrix, int64_t row, int64_t column) {
      return matrix.floats[size_t(row * matrix.shape[1] + column)];
    };
    for (int64_t m = 0; m < c.rows; ++m)
      for (int64_t n = 0; n < c.columns; ++n) {
        double sum = c.hasBias ? bias.floats[size_t(n)] : 0,
               size = std::abs(sum);
        for (int64_t k = 0; k < c.inner; ++k) {
          double product =
              (c.leftIsTransposed ? at(left, k, m) : at(left, m, k)) *
              (c.rightIsTransposed ? at(right, n, k) : at(right, k, n));
          sum += product;
          size += std::abs(product);
        }
        exact.push_back(sum);
        bounds.push_back(double(c.inner + 1) * 0x1p-24 * size);
        // A result of bf16, which has 8 bits, is rounded once more.
        if (c.to == "bf16")
          bounds.back() += 0x1p-8 * (std::abs(sum) + bounds.back());
      }
  }
};

class Matmul : public ::testing::TestWithParam<Case> {};

// Each has at least the 50 MFLOP of which a library's call is worth it.
const Case cases[] = {
    // Forward: whole tiles, then ragged ones of rows and columns.
    {256, 320, 320, false, true, "bf16", true},
    {131, 514, 390, false, true, "bf16", true},
    {65, 770, 513, false, true},
    // Gradients of inputs.
    {256, 320, 320},
    {300, 322, 275, false, false, "bf16"},
    // More terms than a panel has, in parts of equal and of different sizes.
    {70, 6400, 64},
    {67, 6454, 60, true, false},
    // Rows whose lines would share a set of the cache, and so are copied.
    {69, 4096, 200},
    {64, 2048, 230, false, true, "bf16", true},
    // Gradients of weights.
    {320, 256, 320, true, false},
    {333, 262, 290, true, false},
    {768, 66, 500, true, true, "bf16"},
    {320, 256, 320, true, false, "f32", false, "f32"},
    {333, 261, 290, true, false, "f32", false, "f32"},
    {768, 66, 500, true, true, "f32", false, "f32"},
    {67, 1931, 200, true, false, "f32", false, "f32"}, // in parts
    // The last block of rows has but a ragged tile.
    {5321, 160, 32},
    {422, 3072, 33, true, false},
    // Several blocks of rows, and of terms many parts.
    {600, 6400, 64},
    {70, 12800, 64},
    {65, 12802, 70, false, true},
    // A sum in parts is rounded once.
    {70, 6400, 64, false, true, "bf16", true},
    // An odd number of terms has no pairs.
    {256, 321, 320, false, true},
};

} // namespace

/// The bits do not depend on how many threads a matmul is divided for.
TEST(PlannedThreads, ChangeNoBit) {
  for (const Case &c : {Case{300, 322, 275, false, false, "bf16"},
                        Case{1030, 130, 200, false, true, "bf16", true},
                        Case{150, 6454, 60, false, true}}) {
    Operands operands(c);
    Numbers first;
    for (uint32_t threads : {1, 2, 7, 64}) {
      ModuleText module(programOf(c));
      CompileOptions options;
      options.threads = threads;
      auto bytes = compileProgram(*module.module, options);
      ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
      Numbers found =
          Compiled(std::move(*bytes)).run("g", operands.named)["result"].floats;
      if (first.empty())
        first = found;
      EXPECT_EQ(found, first) << threads;
    }
  }
}

TEST_P(Matmul, IsTheSumOfProducts) {
  const Case &c = GetParam();
  Operands operands(c);
  Sums sums(c, operands);
  std::vector<char> bytes = artifactOf(programOf(c));
  Numbers first;
  for (int threads : {1, 2, 5}) {
    runtime::SessionOptions options;
    options.threads = threads;
    Numbers found =
        Compiled(bytes, options).run("g", operands.named)["result"].floats;
    if (first.empty())
      first = found;
    EXPECT_EQ(found, first) << threads;
  }
  ASSERT_EQ(first.size(), sums.exact.size());
  for (size_t i = 0; i < first.size(); ++i)
    ASSERT_LE(std::abs(first[i] - sums.exact[i]), sums.bounds[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Matmul, ::testing::ValuesIn(cases));

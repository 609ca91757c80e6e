// Kernels of inverses compute what the op computes, on the processor and on the
// emulated GPU, as exactly as f32 allows.

#include "curvature_check.h"
#include "tests/sanitized.h"

using namespace gradus;
using namespace gradus::test;

namespace {

OneOp programOf(int64_t count, int64_t n, const std::string &element = "f32") {
  std::string rows = std::to_string(n) + "x",
              type = "tensor<" + std::to_string(count) + "x" + rows + rows +
                     element + ">";
  return {type, "inverse %x", type};
}

/// Symmetric matrices Q D Q^T, rounded to f32, whose eigenvalues D go from 1
/// down to 1 / condition; Q is a product of reflections.
HostTensor definite(int64_t count, int64_t n, double condition,
                    unsigned seed = 3) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  HostTensor x = zeros({count, n, n});
  std::vector<double> v(n);
  for (int64_t m = 0; m < count; ++m) {
    double *a = &x.floats[m * n * n];
    for (int64_t i = 0; i < n; ++i)
      a[i * n + i] = std::pow(condition, n > 1 ? -double(i) / (n - 1) : 0.0);
    for (int turn = 0; turn < 3; ++turn) {
      double squares = 0;
      for (double &number : v)
        number = normal(bits), squares += number * number;
      // A - 2 v (v^T A) / |v|^2, and the same from the right.
      for (int side = 0; side < 2; ++side)
        for (int64_t j = 0; j < n; ++j) {
          int64_t step = side ? 1 : n, first = side ? j * n : j;
          double along = 0;
          for (int64_t i = 0; i < n; ++i)
            along += v[i] * a[first + i * step];
          for (int64_t i = 0; i < n; ++i)
            a[first + i * step] -= 2 * v[i] * along / squares;
        }
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        a[i * n + j] = a[j * n + i] = float(a[j * n + i]);
  }
  return x;
}

/// The norm of the difference over that of what is expected, of one matrix.
double errorOf(const HostTensor &found, const HostTensor &expected,
               int64_t matrix) {
  int64_t size = found.shape[1] * found.shape[2];
  double wrong = 0, all = 0;
  for (int64_t i = matrix * size; i < (matrix + 1) * size; ++i) {
    double difference = found.floats[i] - expected.floats[i];
    wrong += difference * difference;
    all += expected.floats[i] * expected.floats[i];
  }
  return std::sqrt(wrong / all);
}

bool isSymmetric(const HostTensor &x) {
  int64_t n = x.shape[2];
  for (int64_t i = 0; i < x.size(); ++i)
    if (x.floats[i] != x.floats[i / (n * n) * n * n + i % n * n + i / n % n])
      return false;
  return true;
}

/// Makes the matrices of a kernel definite.
void makeDefinite(std::vector<Tensor> &arguments) {
  int64_t n = arguments[0].shape[2];
  for (auto [i, number] : llvm::enumerate(arguments[0].elements))
    if (int64_t(i) % n == int64_t(i) / n % n)
      number.real += 2 * n + 1;
}

class RandomInverse : public ::testing::TestWithParam<unsigned> {
protected:
  /// Sizes around whole panels of 16, and others.
  int64_t n() const {
    constexpr int64_t borders[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 48};
    return GetParam() < 10 ? borders[GetParam()] : 1 + GetParam() * 37 % 101;
  }
  int64_t count() const { return 1 + GetParam() % 4; }
};

} // namespace

TEST_P(RandomInverse, IsWhatTheEvaluatorComputes) {
  OneOp op = programOf(count(), n());
  HostTensor x = definite(count(), n(), 30, GetParam()),
             found = compiledOf(op, x), expected = evaluatedOf(op, x);
  ASSERT_EQ(found.shape, expected.shape);
  for (int64_t matrix = 0; matrix < count(); ++matrix)
    EXPECT_LE(errorOf(found, expected, matrix), 0x1p-20 + 0x1p-22 * 30);
  EXPECT_TRUE(isSymmetric(found));
}

TEST_P(RandomInverse, IsTheSameOnTheEmulatedGpu) {
  checkEmulated(programOf(count(), n()), 2e-6, makeDefinite);
}

TEST_P(RandomInverse, IsExactInF64) {
  OneOp op = programOf(count(), n(), "f64");
  HostTensor x = definite(count(), n(), 30, GetParam()),
             found = compiledOf(op, x), expected = evaluatedOf(op, x);
  for (int64_t matrix = 0; matrix < count(); ++matrix)
    EXPECT_LE(errorOf(found, expected, matrix), 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomInverse,
                         ::testing::Range(0u, casesWhereSanitized(30)));

//===-- accuracy ----------------------------------------------------------===//

TEST(Inverse, Of128IsAsExactAsItsCondition) {
  OneOp op = programOf(3, 128);
  for (double condition : {1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}) {
    HostTensor x = definite(3, 128, condition), found = compiledOf(op, x),
               expected = evaluatedOf(op, x);
    for (int64_t matrix = 0; matrix < 3; ++matrix)
      EXPECT_LE(errorOf(found, expected, matrix), 0x1p-20 + 0x1p-22 * condition)
          << "condition " << condition;
    EXPECT_TRUE(isSymmetric(found)) << "condition " << condition;
  }
}

TEST(Inverse, TakesUpTo512Rows) {
  OneOp op = programOf(1, 512);
  HostTensor x = definite(1, 512, 100), found = compiledOf(op, x);
  EXPECT_LE(errorOf(found, evaluatedOf(op, x), 0), 0x1p-20 + 0x1p-22 * 100);
  EXPECT_TRUE(isSymmetric(found));
}

/// Levels have vectors, and so tiles, of other widths.
TEST(Inverse, IsSymmetricAndExactOnEachLevel) {
  for (std::string level : {"x86-64-v2", "x86-64-v3"})
    for (int64_t n : {7, 16, 33, 100, 128}) {
      OneOp op = programOf(2, n);
      HostTensor x = definite(2, n, 30),
                 found = compiledOf(op, x, {}, "cpu:" + level);
      EXPECT_LE(errorOf(found, evaluatedOf(op, x), 1), 0x1p-20 + 0x1p-22 * 30)
          << level << ": " << n;
      EXPECT_TRUE(isSymmetric(found)) << level << ": " << n;
    }
}

//===-- what is not positive definite -------------------------------------===//

/// Of five matrices the first three have a number on the diagonal that spoils
/// them, the fourth is 0, and the last is sound.
TEST(Inverse, IsNanForAMatrixThatIsNotPositiveDefinite) {
  for (int64_t n : {16, 40, 64}) {
    HostTensor x = definite(5, n, 10), sound = x;
    const int64_t places[] = {0, n / 2, n - 1};
    const double numbers[] = {-1, NAN, INFINITY};
    for (int64_t m : {0, 1, 2})
      x.floats[m * n * n + places[m] * (n + 1)] = numbers[m];
    for (int64_t i = 0; i < n * n; ++i)
      x.floats[3 * n * n + i] = 0;
    OneOp op = programOf(5, n);
    HostTensor found = compiledOf(op, x), expected = compiledOf(op, sound);
    for (int64_t i = 0; i < 4 * n * n; ++i)
      ASSERT_TRUE(std::isnan(found.floats[i])) << n << ": " << i;
    for (int64_t i = 4 * n * n; i < 5 * n * n; ++i)
      ASSERT_EQ(found.floats[i], expected.floats[i]) << n << ": " << i;
  }
}

TEST(Inverse, ReadsNothingBelowTheDiagonal) {
  for (int64_t n : {5, 48, 50}) {
    HostTensor x = definite(1, n, 10), spoilt = x;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        spoilt.floats[i * n + j] = NAN;
    OneOp op = programOf(1, n);
    EXPECT_EQ(compiledOf(op, spoilt).floats, compiledOf(op, x).floats);
  }
}

TEST(Inverse, HasTheSameBitsWithAnyNumberOfThreads) {
  OneOp op = programOf(7, 40);
  HostTensor x = definite(7, 40, 10);
  runtime::SessionOptions one, three;
  one.threads = 1;
  three.threads = 3;
  EXPECT_EQ(compiledOf(op, x, one).floats, compiledOf(op, x, three).floats);
}

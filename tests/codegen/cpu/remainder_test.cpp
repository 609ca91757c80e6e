// Remainders against C's fmod: they are exact, so all of them are equal.

#include "tests/codegen/applied.h"

using namespace gradus::test;

namespace {

template <typename T> void expectRest(T found, double x, double y) {
  double exact = std::fmod(x, y);
  if (std::isnan(exact))
    EXPECT_TRUE(std::isnan(double(found))) << x << " by " << y;
  else
    EXPECT_TRUE(double(found) == exact &&
                std::signbit(double(found)) == std::signbit(exact))
        << x << " by " << y << " leaves " << double(found) << ", expected "
        << exact;
}

/// In vectors and one by one, with fused products and without.
template <typename T>
void expectRests(const std::vector<double> &xs, const std::vector<double> &ys,
                 const std::string &otherTarget = "cpu:x86-64-v2") {
  std::vector<T> x(xs.begin(), xs.end()), y(ys.begin(), ys.end());
  for (const std::string &target : {std::string("cpu"), otherTarget}) {
    SCOPED_TRACE(target);
    std::vector<T> rests = apply<T>("arith.remf", {x, y}, target);
    for (size_t i = 0; i < x.size(); ++i)
      expectRest(rests[i], double(x[i]), double(y[i]));
  }
}

/// Doubles of any bits: all exponents, subnormal ones and infinities too.
template <typename T>
std::vector<double> anything(size_t count, unsigned seed) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  std::mt19937_64 random(seed);
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = std::bit_cast<T>(static_cast<Bits>(random()));
  return numbers;
}

} // namespace

// The quotient of the first is just below 2, rounded up to it; the last have
// quotients of 15 digits and more.
TEST(CpuRemainder, IsExactWhereTheQuotientIsRounded) {
  expectRests<double>(
      {3 + 0x1p-51, -3 - 0x1p-51, double(340.68f), 1e17, -1e300, 1e308},
      {1 + 0x1p-52, 1 + 0x1p-52, double(0.01f), 0.3, 7e-300, 0x1p-1074});
  expectRests<float>(
      {3 + 0x1p-22, -3 - 0x1p-22, 1e7, 123456789, -5.5, 340.68, 1e20, 3e38,
       -3e38},
      {1 + 0x1p-23, 1 + 0x1p-23, 0.3, 0.7, 2, 0.01, 3, 0x1p-149, 0.7});
  expectRests<_Float16>({65504, 2050, -60000, 1, 0.1},
                        {0x1p-24 * 3, 0.7, 0.001, 0.1, 3}, "cpu:x86-64-v3");
}

// n times a number, as it rounds: often just below the multiple.
TEST(CpuRemainder, IsExactBesideMultiples) {
  std::mt19937 random(7);
  std::vector<double> x, y;
  for (int i = 0; i < 5000; ++i) {
    double by = std::array{0.1, 0.01, 0.3, 0.7, 1.1}[i % 5];
    double whole = std::ldexp(double(random()), int(random() % 60) - 31);
    x.push_back(std::trunc(whole) * by), y.push_back(i % 2 ? by : -by);
  }
  expectRests<double>(x, y);
  expectRests<float>(x, y);
}

TEST(CpuRemainder, IsExactOfAnyNumbers) {
  expectRests<double>(anything<double>(5000, 1), anything<double>(5000, 2));
  expectRests<float>(anything<float>(5000, 3), anything<float>(5000, 4));
}

TEST(CpuRemainder, IsNoneOfInfinityAndByZero) {
  double inf = INFINITY, nan = NAN;
  std::vector<double> x = {inf, -inf, 1, -1, inf, 0, -0.0, 0,   3,
                           -3,  nan,  1, -4, 4,   1, inf,  -0.0},
                      y = {1, 2, inf, -inf, inf, 0, 0,   nan, 0,
                           0, 1, nan, 2,    -2,  1, nan, 3};
  expectRests<double>(x, y);
  expectRests<float>(x, y);
}

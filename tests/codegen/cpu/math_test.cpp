// The polynomials against the C library: f32 within some units of the last
// place, f64 within 1e-13, special values exactly.

#include "tests/codegen/applied.h"

using namespace gradus::test;

namespace {

template <typename T> std::vector<T> spread(double low, double high) {
  std::vector<T> all;
  for (int i = 0; i <= 20000; ++i)
    all.push_back(T(low + (high - low) * i / 20000));
  return all;
}

using Function = double (*)(double);

/// The largest error relative to the result, or to `floor` where that is
/// larger.
template <typename T>
double worstError(std::string op, Function exact, double low, double high,
                  double floor = 0) {
  double worst = 0;
  for (std::string target : {"cpu", "cpu:x86-64-v2"}) {
    std::vector<T> x = spread<T>(low, high), y = apply<T>(op, {x}, target);
    for (size_t i = 0; i < x.size(); ++i) {
      double want = exact(double(x[i])),
             size = std::max(std::fabs(want), floor);
      double error =
          size == 0 ? std::fabs(double(y[i])) : std::fabs(y[i] - want) / size;
      worst = std::max(worst, error == error ? error : 1e9);
    }
  }
  return worst;
}

} // namespace

constexpr double ulp = 1.2e-7;

TEST(CpuMath, IsCloseInSinglePrecision) {
  EXPECT_LT(worstError<float>("math.exp", std::exp, -87, 88), 1 * ulp);
  EXPECT_LT(worstError<float>("math.expm1", std::expm1, -3, 3), 3 * ulp);
  EXPECT_LT(worstError<float>("math.log", std::log, 1e-6, 30, 1e-2), 2 * ulp);
  EXPECT_LT(worstError<float>("math.log1p", std::log1p, -0.9, 9), 4 * ulp);
  EXPECT_LT(worstError<float>("math.tanh", std::tanh, -10, 10), 4 * ulp);
  EXPECT_LT(worstError<float>("math.erf", std::erf, -5, 5), 6 * ulp);
  EXPECT_LT(worstError<float>("math.sin", std::sin, -50, 50, 1e-1), 4 * ulp);
  EXPECT_LT(worstError<float>("math.cos", std::cos, -50, 50, 1e-1), 4 * ulp);
  EXPECT_LT(worstError<float>("math.atan", std::atan, -9, 9), 4 * ulp);
  EXPECT_LT(worstError<float>("math.asin", std::asin, -1, 1), 5 * ulp);
  EXPECT_LT(worstError<float>("math.acos", std::acos, -1, 1, 1e-1), 5 * ulp);
  EXPECT_LT(worstError<float>("math.asinh", std::asinh, -9, 9), 5 * ulp);
  EXPECT_LT(worstError<float>("math.acosh", std::acosh, 1, 9), 5 * ulp);
  EXPECT_LT(worstError<float>("math.atanh", std::atanh, -0.99, 0.99), 6 * ulp);
  EXPECT_LT(
      worstError<float>(
          "math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-3, 10),
      2 * ulp);
}

TEST(CpuMath, IsCloseInDoublePrecision) {
  EXPECT_LT(worstError<double>("math.exp", std::exp, -700, 709), 1e-13);
  EXPECT_LT(worstError<double>("math.expm1", std::expm1, -3, 3), 1e-13);
  EXPECT_LT(worstError<double>("math.log", std::log, 1e-9, 30, 1e-2), 1e-13);
  EXPECT_LT(worstError<double>("math.tanh", std::tanh, -25, 25), 1e-13);
  EXPECT_LT(worstError<double>("math.erf", std::erf, -7, 7), 1e-13);
  EXPECT_LT(worstError<double>("math.sin", std::sin, -50, 50, 1e-2), 1e-13);
  EXPECT_LT(worstError<double>("math.cos", std::cos, -50, 50, 1e-2), 1e-13);
  EXPECT_LT(worstError<double>("math.atan", std::atan, -9, 9), 1e-13);
  EXPECT_LT(worstError<double>("math.asin", std::asin, -1, 1), 1e-13);
  EXPECT_LT(worstError<double>("math.acos", std::acos, -1, 1, 1e-1), 1e-13);
  EXPECT_LT(worstError<double>("math.asinh", std::asinh, -9, 9), 1e-13);
  EXPECT_LT(worstError<double>("math.acosh", std::acosh, 1, 9), 1e-13);
  EXPECT_LT(worstError<double>("math.atanh", std::atanh, -0.99, 0.99), 1e-13);
  EXPECT_LT(worstError<double>("math.sqrt", std::sqrt, 0, 50), 1e-15);
}

TEST(CpuMath, RaisesToPowers) {
  std::vector<double> steps = spread<double>(1, 1e5), base(steps.size(), 0.999);
  std::vector<double> y = apply<double>("math.powf", {base, steps}, "cpu");
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y[i] / std::pow(0.999, steps[i]), 1, 1e-12);
  std::vector<float> x = {2, -2, -2, 0, 0, 3, -8},
                     e = {10, 3, 2, 2, 0, -1, 0.5};
  std::vector<float> z = apply<float>("math.powf", {x, e}, "cpu:x86-64-v2");
  for (size_t i = 0; i + 1 < x.size(); ++i)
    EXPECT_FLOAT_EQ(z[i], std::pow(x[i], e[i]));
  EXPECT_TRUE(std::isnan(z.back()));
}

template <typename T> static void expectSpecialValues() {
  constexpr T inf = std::numeric_limits<T>::infinity(),
              nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> x = {inf, -inf, nan, 0, 1000, -1000};
  std::vector<T> exp = apply<T>("math.exp", {x}, "cpu"),
                 log = apply<T>("math.log", {x}, "cpu");
  std::vector<T> tanh = apply<T>("math.tanh", {x}, "cpu");
  EXPECT_EQ(exp[0], inf);
  EXPECT_EQ(exp[1], 0);
  EXPECT_TRUE(std::isnan(exp[2]) && std::isnan(log[2]) && std::isnan(tanh[2]));
  EXPECT_EQ(exp[3], 1);
  EXPECT_EQ(exp[4], inf);
  EXPECT_EQ(exp[5], 0);
  EXPECT_EQ(log[0], inf);
  EXPECT_TRUE(std::isnan(log[1]) && std::isnan(log[5]));
  EXPECT_EQ(log[3], -inf);
  EXPECT_EQ(tanh[0], 1);
  EXPECT_EQ(tanh[5], -1);
}

/// Up to the largest number whose exponential is finite, and from the next on.
/// Results that would be denormal are within one of the exact ones, or 0.
template <typename T>
static void expectRangeOfExponentials(std::vector<T> large, T least) {
  constexpr T inf = std::numeric_limits<T>::infinity(),
              nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T denormal = std::numeric_limits<T>::denorm_min();
  double bound = sizeof(T) == 4 ? 1 * ulp : 1e-13;
  for (std::string target : {"cpu", "cpu:x86-64-v2"}) {
    for (std::string op : {"math.exp", "math.expm1"}) {
      std::vector<T> y = apply<T>(op, {large}, target);
      for (size_t i = 0; i < large.size(); ++i)
        EXPECT_NEAR(y[i] / std::exp(double(large[i])), 1, bound)
            << op << " of " << large[i] << " on " << target;
      T next = std::nextafter(large.back(), inf);
      std::vector<T> above = {next, next + 1, inf, nan};
      y = apply<T>(op, {above}, target);
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(y[i], inf) << op << " of " << above[i] << " on " << target;
      EXPECT_TRUE(std::isnan(y[3])) << op << " on " << target;
    }
    std::vector<T> small = {least, least - 1, least - 10, -inf},
                   y = apply<T>("math.exp", {small}, target);
    for (size_t i = 0; i < small.size(); ++i)
      EXPECT_TRUE(y[i] == 0 || std::fabs(y[i] - std::exp(small[i])) <= denormal)
          << small[i] << " on " << target;
    EXPECT_EQ(y.back(), 0);
  }
}

TEST(CpuMath, RaisesToTheLargestNumbers) {
  expectRangeOfExponentials<float>(
      {88, 88.37f, 88.38f, 88.7f, 88.72f, 88.722824f, 88.72283172607421875f},
      -87.4f);
  expectRangeOfExponentials<double>(
      {709, 709.4, 709.5, 709.7, 709.78, 709.782712893384}, -708.5);
}

TEST(CpuMath, SinesOfLargeNumbersAreInfinite) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(apply<float>("math.sinh", {{inf, -inf, 90, -90}}, "cpu"),
            (std::vector<float>{inf, -inf, inf, -inf}));
}

/// Where twice the number is infinite, and where its square is.
template <typename T> static void expectLargeAreas() {
  constexpr T most = std::numeric_limits<T>::max();
  std::vector<T> x = {most, T(0.6) * most, T(1e30), T(2e18), T(9e17), T(1e10)};
  std::vector<T> sines = apply<T>("math.asinh", {x}, "cpu"),
                 cosines = apply<T>("math.acosh", {x}, "cpu");
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::asinh(double(x[i]));
    EXPECT_NEAR(sines[i] / exact, 1, 2 * ulp) << x[i];
    EXPECT_NEAR(cosines[i] / exact, 1, 2 * ulp) << x[i];
  }
  T inf = std::numeric_limits<T>::infinity();
  EXPECT_EQ(apply<T>("math.asinh", {{inf, -inf}}, "cpu"),
            (std::vector<T>{inf, -inf}));
}

TEST(CpuMath, TakesAreasOfLargeNumbers) {
  expectLargeAreas<float>();
  expectLargeAreas<double>();
}

TEST(CpuMath, KnowsInfinityAndNan) {
  expectSpecialValues<float>();
  expectSpecialValues<double>();
}

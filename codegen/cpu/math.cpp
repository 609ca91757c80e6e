// Polynomial approximations. The coefficients are those of Cephes (Moshier), of
// Eigen's rational tanh and erf for f32, and of Cody (1969) for erf in f64;
// those of exp in f32 minimize the largest error relative to the result.

#include "codegen/cpu/math.h"

#include "llvm/IR/IntrinsicsX86.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace gradus;

namespace {

/// A value with arithmetic operators.
struct Real {
  CpuBuilder *b;
  Value *v;

  Real operator()(double c) const { return {b, b->real(v->getType(), c)}; }
  Real with(Value *value) const { return {b, value}; }
  Real operator+(Real y) const { return with(b->CreateFAdd(v, y.v)); }
  Real operator-(Real y) const { return with(b->CreateFSub(v, y.v)); }
  Real operator*(Real y) const { return with(b->CreateFMul(v, y.v)); }
  Real operator/(Real y) const { return with(b->CreateFDiv(v, y.v)); }
  Real operator-() const { return with(b->CreateFNeg(v)); }
  Real squareRoot() const { return with(b->unary(Intrinsic::sqrt, v)); }
  Real abs() const { return with(b->unary(Intrinsic::fabs, v)); }
  Real round() const { return with(b->unary(Intrinsic::roundeven, v)); }
  Real fma(Real y, Real z) const { return with(b->fma(v, y.v, z.v)); }
  Real copySign(Real y) const {
    return with(b->binary(Intrinsic::copysign, v, y.v));
  }
  Value *operator<(Real y) const { return b->CreateFCmpOLT(v, y.v); }
  Value *operator>(Real y) const { return b->CreateFCmpOGT(v, y.v); }
  Value *operator==(Real y) const { return b->CreateFCmpOEQ(v, y.v); }
  /// Selects this value if `condition` holds, else `other`.
  Real when(Value *condition, Real other) const {
    return with(b->CreateSelect(condition, v, other.v));
  }
  bool isDouble() const { return v->getType()->getScalarType()->isDoubleTy(); }
  Type *bitsType() const {
    return b->likewise(v, isDouble() ? b->getInt64Ty() : b->getInt32Ty());
  }
  Value *bits() const { return b->CreateBitCast(v, bitsType()); }
  Value *integer(int64_t c) const { return b->integer(bitsType(), c); }
  Value *toInteger() const { return b->CreateFPToSI(v, bitsType()); }
  Real fromBits(Value *bits) const {
    return with(b->CreateBitCast(bits, v->getType()));
  }
  Real fromInteger(Value *i) const {
    return with(b->CreateSIToFP(i, v->getType()));
  }
  int mantissa() const { return isDouble() ? 52 : 23; }
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Horner's scheme, highest power first.
Real polynomial(Real x, ArrayRef<double> coefficients) {
  Real sum = x(coefficients[0]);
  for (double c : coefficients.drop_front())
    sum = sum.fma(x, x(c));
  return sum;
}

/// Clamps x to [low, high]; NaN stays.
Real clamp(Real x, double low, double high) {
  Real above = x(low).when(x < x(low), x);
  return x(high).when(above > x(high), above);
}

/// x * 2^n where that is a normal number, also if 2^n itself is too large.
Real scale(Real x, Real n) {
  Value *shift = x.b->CreateShl(n.toInteger(), x.integer(x.mantissa()));
  return x.fromBits(x.b->CreateAdd(x.bits(), shift));
}

/// Whether the target multiplies by powers of 2 in one instruction (AVX-512).
bool scalesInOne(Real x) {
  return !x.isDouble() && x.b->target.vectorBits == 512;
}

/// x * 2^n for any n: also where that is infinite, or less than all numbers.
Real scaleInOne(Real x, Real n) {
  CpuBuilder &b = *x.b;
  return x.with(b.inVectors({x.v, n.v}, [&](ArrayRef<Value *> operands) {
    unsigned lanes = lanesOf(operands[0]);
    Intrinsic::ID id = lanes == 4   ? Intrinsic::x86_avx512_mask_scalef_ps_128
                       : lanes == 8 ? Intrinsic::x86_avx512_mask_scalef_ps_256
                                    : Intrinsic::x86_avx512_mask_scalef_ps_512;
    Values all(operands);
    all.push_back(Constant::getNullValue(operands[0]->getType()));
    all.push_back(Constant::getAllOnesValue(b.getIntNTy(std::max(lanes, 8u))));
    if (lanes == 16)
      all.push_back(b.getInt32(4)); // rounds as other instructions do
    return b.CreateIntrinsic(id, all);
  }));
}

/// Coefficients of (exp(r) - 1 - r) / r^2. In f32 the largest error relative to
/// exp(r) is 0.05 of half a unit in the last place.
constexpr double kExpPolynomial32[] = {1.3814539989e-3, 8.3687451164e-3,
                                       4.1668390787e-2, 1.6666520399e-1,
                                       4.9999993432e-1};
constexpr double kExpPolynomial64[] = {
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
    1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
    1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};

/// x = n ln2 + r with |r| <= ln2 / 2.
struct ExpParts {
  Real n, r;
};
ExpParts reduceExp(Real x) {
  Real n = (x * x(1.4426950408889634)).round();
  double high = x.isDouble() ? 6.93145751953125e-1 : 0.693359375;
  double low = x.isDouble() ? 1.42860682030941723212e-6 : -2.12194440e-4;
  Real r = n.fma(x(-high), x);
  return {n, n.fma(x(-low), r)};
}

Real expPolynomial(Real r) {
  return polynomial(r, r.isDouble() ? ArrayRef<double>(kExpPolynomial64)
                                    : kExpPolynomial32);
}

/// exp(r) - 1 - r.
Real expTail(Real r) { return expPolynomial(r) * (r * r); }

/// exp(r), in Horner's scheme to the end.
Real expOfRest(Real r) { return expPolynomial(r).fma(r, r(1)).fma(r, r(1)); }

/// The largest number whose exponential is finite: x = n ln2 + r has the
/// largest n with r < 0, so that exp(r) < 1 can be scaled by 2^n.
double largestExponent(Real x) {
  return x.isDouble() ? 709.782712893384 : 88.72283172607421875;
}

/// Without the instruction that scales, results that would be denormal are 0.
Real exponential(Real x) {
  if (scalesInOne(x)) { // and finds zeros and infinities
    auto [n, r] = reduceExp(clamp(x, -104, 89));
    return scaleInOne(expOfRest(r), n);
  }
  double low = x.isDouble() ? -708.39 : -87.33654, high = largestExponent(x);
  auto [n, r] = reduceExp(clamp(x, low, high));
  Real y = scale(expOfRest(r), n);
  y = x(0).when(x < x(low), y);
  return x(kInfinity).when(x > x(high), y);
}

/// Twice 2^(n-1) (exp(r) - 1) + (2^(n-1) - 1/2), which is exact near 0, and
/// whose powers are finite.
Real exponentialLess1(Real x) {
  double low = x.isDouble() ? -700 : -87, high = largestExponent(x);
  auto [n, r] = reduceExp(clamp(x, low, high));
  Real power = scale(x(0.5), n);
  Real half = power.fma(expTail(r) + r, power - x(0.5));
  Real y = x.when(x.abs() < x(1e-30), half + half);
  return x(kInfinity).when(x > x(high), y);
}

/// x = m 2^e with m in [sqrt(1/2), sqrt(2)).
struct LogParts {
  Real m, e;
};
LogParts reduceLog(Real x) {
  CpuBuilder &b = *x.b;
  int64_t bias = x.isDouble() ? 1022 : 126;
  int64_t mask = (int64_t(1) << x.mantissa()) - 1, half = bias << x.mantissa();
  Value *exponent = b.CreateSub(b.CreateLShr(x.bits(), x.integer(x.mantissa())),
                                x.integer(bias));
  Real m = x.fromBits(
      b.CreateOr(b.CreateAnd(x.bits(), x.integer(mask)), x.integer(half)));
  Real e = x.fromInteger(exponent);
  Value *small = m < x(M_SQRT1_2);
  return {(m + m).when(small, m), (e - x(1)).when(small, e)};
}

constexpr double kLogPolynomial32[] = {
    7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,
    -1.2420140846e-1, 1.4249322787e-1,  -1.6668057665e-1,
    2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1};
constexpr double kLogPolynomial64[] = {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17,
                                       2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9,
                                       2.0 / 7,  2.0 / 5,  2.0 / 3};

Real log32(Real x) {
  auto [m, e] = reduceLog(x);
  Real t = m - x(1), z = t * t;
  Real y = polynomial(t, kLogPolynomial32) * t * z;
  y = e.fma(x(-2.12194440e-4), y);
  y = z.fma(x(-0.5), y);
  return e.fma(x(0.693359375), t + y);
}

/// 2 atanh(s) with s = (m - 1) / (m + 1).
Real log64(Real x) {
  auto [m, e] = reduceLog(x);
  Real t = m - x(1), s = t / (m + x(1)), z = s * s;
  Real y = s * z * polynomial(z, kLogPolynomial64);
  y = e.fma(x(1.42860682030941723212e-6), s + s + y);
  return e.fma(x(6.93145751953125e-1), y);
}

Real logarithm(Real x) {
  double tiny = x.isDouble() ? 2.2250738585072014e-308 : 1.17549435e-38;
  Real safe = x(tiny).when(x < x(tiny), x);
  Real y = x.isDouble() ? log64(safe) : log32(safe);
  y = x.when(x == x(kInfinity), y);
  y = x.with(x.b->CreateSelect(x.b->CreateFCmpUNO(x.v, x.v), x.v, y.v));
  y = x(-kInfinity).when(x.abs() < x(tiny), y);
  return x(kNan).when(x < x(-tiny), y);
}

/// log(u) x / (u - 1) with u = 1 + x compensates the rounding of u (Kahan).
Real logarithm1p(Real x) {
  Real u = x + x(1), y = logarithm(u) * (x / (u - x(1)));
  y = x.when(u == x(1), y);
  return x(kInfinity).when(x == x(kInfinity), y);
}

Real tanh32(Real x) {
  Real t = clamp(x, -7.90531110763549805, 7.90531110763549805), z = t * t;
  Real p = polynomial(z, {-2.76076847742355e-16, 2.00018790482477e-13,
                          -8.60467152213735e-11, 5.12229709037114e-08,
                          1.48572235717979e-05, 6.37261928875436e-04,
                          4.89352455891786e-03});
  Real q = polynomial(z, {1.19825839466702e-06, 1.18534705686654e-04,
                          2.26843463243900e-03, 4.89352518554385e-03});
  // Large |x| give exactly 1, so that the gradient becomes 0.
  Real y = x(1).copySign(x).when(x.abs() > x(8.2), (t * p) / q);
  return x.when(x.abs() < x(0.0004), y);
}

Real hyperbolicTangent(Real x) {
  if (!x.isDouble())
    return tanh32(x);
  Real t = exponentialLess1(clamp(x.abs() * x(-2), -80, 0));
  return (-t / (t + x(2))).copySign(x);
}

Real erf32(Real x) {
  Real t = clamp(x, -4, 4), z = t * t;
  Real p = polynomial(z, {-2.72614225801306e-10, 2.77068142495902e-08,
                          -2.10102402082508e-06, -5.69250639462346e-05,
                          -7.34990630326855e-04, -2.95459980854025e-03,
                          -1.60960333262415e-02});
  Real q = polynomial(z, {-1.45660718464996e-05, -2.13374055278905e-04,
                          -1.68282697438203e-03, -7.37332916720468e-03,
                          -1.42647390514189e-02});
  return (t * p) / q;
}

Real erf64(Real x) {
  Real z = x * x, a = clamp(x.abs(), 0, 10);
  Real near = x *
              polynomial(z, {1.85777706184603153e-1, 3.16112374387056560,
                             113.864154151050156, 377.485237685302021,
                             3209.37758913846947}) /
              polynomial(z, {1, 23.6012909523441209, 244.024637934444173,
                             1282.61652607737228, 2844.23683343917062});
  Real tail = polynomial(a, {2.15311535474403846e-8, 5.64188496988670089e-1,
                             8.88314979438837594, 66.1191906371416295,
                             298.635138197400131, 881.952221241769090,
                             1712.04761263407058, 2051.07837782607147,
                             1230.33935479799725}) /
              polynomial(a, {1, 15.7449261107098347, 117.693950891312499,
                             537.181101862009858, 1621.38957456669019,
                             3290.79923573345963, 4362.61909014324716,
                             3439.36767414372164, 1230.33935480374942});
  Real far = (x(1) - exponential(-(a * a)) * tail).copySign(x);
  return near.when(x.abs() < x(0.46875), far.when(x.abs() > x(0.46875), x));
}

Real errorFunction(Real x) { return x.isDouble() ? erf64(x) : erf32(x); }

constexpr double kQuarterTurn32[] = {1.5703125, 4.837512969970703125e-4,
                                     7.54978995489188216e-8};
constexpr double kQuarterTurn64[] = {2 * 7.85398125648498535156e-1,
                                     2 * 3.77489470793079817668e-8,
                                     2 * 2.69515142907905952645e-15};

/// x = q pi/2 + r, reduced in three steps to be precise for |x| up to
/// thousands.
struct Quadrant {
  Value *q;
  Real r;
};
Quadrant reduceAngle(Real x) {
  Real n = (x * x(M_2_PI)).round();
  Real r = x;
  ArrayRef<double> parts =
      x.isDouble() ? ArrayRef<double>(kQuarterTurn64) : kQuarterTurn32;
  for (double part : parts)
    r = n.fma(x(-part), r);
  return {n.toInteger(), r};
}

Real sinPolynomial(Real r, Real z) {
  if (!r.isDouble())
    return (polynomial(z,
                       {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}) *
            z)
        .fma(r, r);
  return (polynomial(z,
                     {1.58962301576546568060e-10, -2.50507477628578072866e-8,
                      2.75573136213857245213e-6, -1.98412698295895385996e-4,
                      8.33333333332211858878e-3, -1.66666666666666307295e-1}) *
          z)
      .fma(r, r);
}

Real cosPolynomial(Real z) {
  Real rest =
      z.isDouble()
          ? polynomial(z,
                       {-1.13585365213876817300e-11, 2.08757008419747316778e-9,
                        -2.75573141792967388112e-7, 2.48015872888517179954e-5,
                        -1.38888888888730564116e-3, 4.16666666666665929218e-2})
          : polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3,
                           4.166664568298827e-2});
  return (z * z).fma(rest, z.fma(z(-0.5), z(1)));
}

/// sin(x + turn pi/2).
Real sine(Real x, int turn) {
  CpuBuilder &b = *x.b;
  auto [quadrant, r] = reduceAngle(x);
  Real z = r * r;
  Value *q = b.CreateAdd(quadrant, x.integer(turn));
  Value *odd = b.CreateICmpNE(b.CreateAnd(q, x.integer(1)), x.integer(0));
  Value *negative = b.CreateICmpNE(b.CreateAnd(q, x.integer(2)), x.integer(0));
  Real y = cosPolynomial(z).when(odd, sinPolynomial(r, z));
  return (-y).when(negative, y);
}

/// atan(x) - x for |x| up to tan(pi/8) (f32) or 0.66 (f64).
Real atanTail(Real x) {
  Real z = x * x;
  if (!x.isDouble())
    return polynomial(z, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1,
                          -3.33329491539e-1}) *
           z * x;
  Real p =
      polynomial(z, {-8.750608600031904122785e-1, -1.615753718733365076637e1,
                     -7.500855792314704667340e1, -1.228866684490136173410e2,
                     -6.485021904942025371773e1});
  Real q =
      polynomial(z, {1, 2.485846490142306297962e1, 1.650270098316988542046e2,
                     4.328810604912902668951e2, 4.853903996359136964868e2,
                     1.945506571482613964425e2});
  return z * (p / q) * x;
}

/// Near 1 uses atan x = pi/4 + atan((x - 1) / (x + 1)), for large x atan x =
/// pi/2 - atan(1 / x).
Real arcTangent(Real x) {
  Real a = x.abs(), one = x(1);
  Value *far = a > x(2.41421356237309504880);
  Value *middle = a > x(x.isDouble() ? 0.66 : 0.414213562373095);
  Real r = (-one / a).when(far, ((a - one) / (a + one)).when(middle, a));
  Real base = x(M_PI_2).when(far, x(M_PI_4).when(middle, x(0)));
  Real lost = x(6.123233995736765886e-17)
                  .when(far, x(3.061616997868382943e-17).when(middle, x(0)));
  return (base + (r + (atanTail(r) + lost))).copySign(x);
}

/// sqrt(1 - x^2)
Real cosineOfArc(Real x) { return ((x(1) - x) * (x(1) + x)).squareRoot(); }
Real arcSine(Real x) { return arcTangent(x / cosineOfArc(x)); }
Real arcCosine(Real x) {
  return x(2) * arcTangent(((x(1) - x) / (x(1) + x)).squareRoot());
}

/// log(2 x) for x so large that squares may overflow, else the value of the
/// usual formula.
Real orLogOfTwice(Real x, Real usual) {
  return (logarithm(x) + x(0.693147180559945309417)).when(x > x(1e18), usual);
}

/// log(1 + a + a^2 / (1 + sqrt(1 + a^2))), with the last term rewritten so that
/// squares do not overflow.
Real areaSine(Real x) {
  Real a = x.abs(), inverse = x(1) / a;
  Real rest = a / (inverse + inverse.fma(inverse, x(1)).squareRoot());
  return orLogOfTwice(a, logarithm1p(a + rest)).copySign(x);
}
/// log(1 + t + sqrt(t (t + 2))) with t = x - 1
Real areaCosine(Real x) {
  Real t = x - x(1);
  return orLogOfTwice(
      x, logarithm1p(t + t.squareRoot() * (t + x(2)).squareRoot()));
}
/// log(1 + 2 a / (1 - a)) / 2
Real areaTangent(Real x) {
  Real a = x.abs();
  return (x(0.5) * logarithm1p((a + a) / (x(1) - a))).copySign(x);
}

/// pow for f64, which is precise enough for the product y log x.
Real pow64(Real x, Real y) {
  CpuBuilder &b = *x.b;
  Real size = exponential(y * logarithm(x.abs()));
  Real whole = y.with(b.unary(Intrinsic::trunc, y.v));
  Real half = y * y(0.5);
  Value *odd = b.CreateAnd(
      whole == y, b.CreateFCmpUNE(half.v, b.unary(Intrinsic::trunc, half.v)));
  Real signedSize = (-size).when(b.CreateAnd(odd, x < x(0)), size);
  Value *bad = b.CreateAnd(x < x(0), b.CreateFCmpUNE(whole.v, y.v));
  Real result = x(kNan).when(bad, signedSize);
  return x(1).when(b.CreateOr(y == y(0), x == x(1)), result);
}

} // namespace

Value *cpu_math::exp(CpuBuilder &b, Value *x) {
  return exponential(Real{&b, x}).v;
}
Value *cpu_math::expm1(CpuBuilder &b, Value *x) {
  return exponentialLess1(Real{&b, x}).v;
}
Value *cpu_math::log(CpuBuilder &b, Value *x) {
  return logarithm(Real{&b, x}).v;
}
Value *cpu_math::log1p(CpuBuilder &b, Value *x) {
  return logarithm1p(Real{&b, x}).v;
}
Value *cpu_math::tanh(CpuBuilder &b, Value *x) {
  return hyperbolicTangent(Real{&b, x}).v;
}
Value *cpu_math::erf(CpuBuilder &b, Value *x) {
  return errorFunction(Real{&b, x}).v;
}
Value *cpu_math::sin(CpuBuilder &b, Value *x) { return sine(Real{&b, x}, 0).v; }
Value *cpu_math::cos(CpuBuilder &b, Value *x) { return sine(Real{&b, x}, 1).v; }

Value *cpu_math::asin(CpuBuilder &b, Value *x) { return arcSine({&b, x}).v; }
Value *cpu_math::acos(CpuBuilder &b, Value *x) { return arcCosine({&b, x}).v; }
Value *cpu_math::atan(CpuBuilder &b, Value *x) { return arcTangent({&b, x}).v; }
Value *cpu_math::asinh(CpuBuilder &b, Value *x) { return areaSine({&b, x}).v; }
Value *cpu_math::acosh(CpuBuilder &b, Value *x) {
  return areaCosine({&b, x}).v;
}
Value *cpu_math::atanh(CpuBuilder &b, Value *x) {
  return areaTangent({&b, x}).v;
}

Value *cpu_math::pow(CpuBuilder &b, Value *x, Value *y) {
  Type *type = x->getType(), *wide = b.likewise(x, b.getDoubleTy());
  Real base{&b, b.CreateFPExt(x, wide)}, exponent{&b, b.CreateFPExt(y, wide)};
  return b.CreateFPTrunc(pow64(base, exponent).v, type);
}

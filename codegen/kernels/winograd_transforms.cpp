// One-dimensional transforms, applied to columns and then to rows. They share
// the even and the odd part of a polynomial between its values at x and -x.

#include "codegen/kernels/winograd_transforms.h"

namespace gradus {
using namespace mlir;

namespace {

using Line = SmallVector<Value, 6>;

constexpr double kA = 5.0 / 8, kB = 3.0 / 2, kAA = kA * kA, kBB = kB * kB,
                 kAAA = kAA * kA, kBBB = kBB * kB;
constexpr double kSum = kAA + kBB, kProduct = kAA * kBB;
/// The factors of weights at the points: 1 over the product of the distances
/// to the other points.
constexpr double kAtZero = 1 / kProduct, kAtA = 1 / (2 * kAA * (kAA - kBB)),
                 kAtB = 1 / (2 * kBB * (kBB - kAA));

/// Sums in which a null value is zero.
struct Terms {
  const Arithmetic &s;

  Value add(Value x, Value y) const { return !x ? y : !y ? x : s.add(x, y); }
  Value subtract(Value x, Value y) const {
    return !y ? x : !x ? s.negate(y) : s.subtract(x, y);
  }
  Value scale(double factor, Value x) const {
    return x ? s.scale(factor, x) : x;
  }
  /// x + factor * y.
  Value plus(Value x, double factor, Value y) const {
    return add(x, scale(factor, y));
  }
  /// even + odd and even - odd.
  void both(Line &line, Value even, Value odd) const {
    line.push_back(add(even, odd));
    line.push_back(subtract(even, odd));
  }
};

//===-- tiles of 4x4 ------------------------------------------------------===//

Line input4(const Terms &t, ArrayRef<Value> d) {
  Line line = {t.plus(t.plus(d[4], kProduct, d[0]), -kSum, d[2])};
  t.both(line, t.plus(d[4], -kBB, d[2]), t.scale(kA, t.plus(d[3], -kBB, d[1])));
  t.both(line, t.plus(d[4], -kAA, d[2]), t.scale(kB, t.plus(d[3], -kAA, d[1])));
  line.push_back(t.plus(t.plus(d[5], kProduct, d[1]), -kSum, d[3]));
  return line;
}

Line weights4(const Terms &t, ArrayRef<Value> g) {
  Line line = {t.scale(kAtZero, g[0])};
  t.both(line, t.plus(t.scale(kAtA, g[0]), kAtA * kAA, g[2]),
         t.scale(kAtA * kA, g[1]));
  t.both(line, t.plus(t.scale(kAtB, g[0]), kAtB * kBB, g[2]),
         t.scale(kAtB * kB, g[1]));
  line.push_back(g[2]);
  return line;
}

Line output4(const Terms &t, ArrayRef<Value> m) {
  Value evenA = t.add(m[1], m[2]), oddA = t.subtract(m[1], m[2]),
        evenB = t.add(m[3], m[4]), oddB = t.subtract(m[3], m[4]);
  return {t.add(t.add(m[0], evenA), evenB), t.plus(t.scale(kA, oddA), kB, oddB),
          t.plus(t.scale(kAA, evenA), kBB, evenB),
          t.plus(t.plus(m[5], kAAA, oddA), kBBB, oddB)};
}

Line gradient4(const Terms &t, ArrayRef<Value> y) {
  Line line = {y[0]};
  t.both(line, t.plus(y[0], kAA, y[2]), t.plus(t.scale(kA, y[1]), kAAA, y[3]));
  t.both(line, t.plus(y[0], kBB, y[2]), t.plus(t.scale(kB, y[1]), kBBB, y[3]));
  line.push_back(y[3]);
  return line;
}

Line weightGradient4(const Terms &t, ArrayRef<Value> m) {
  Value evenA = t.add(m[1], m[2]), oddA = t.subtract(m[1], m[2]),
        evenB = t.add(m[3], m[4]), oddB = t.subtract(m[3], m[4]);
  return {t.plus(t.plus(t.scale(kAtZero, m[0]), kAtA, evenA), kAtB, evenB),
          t.plus(t.scale(kAtA * kA, oddA), kAtB * kB, oddB),
          t.plus(t.plus(m[5], kAtA * kAA, evenA), kAtB * kBB, evenB)};
}

//===-- tiles of 2x2 ------------------------------------------------------===//

Line input2(const Terms &t, ArrayRef<Value> d) {
  return {t.subtract(d[0], d[2]), t.add(d[1], d[2]), t.subtract(d[2], d[1]),
          t.subtract(d[1], d[3])};
}

Line weights2(const Terms &t, ArrayRef<Value> g) {
  Line line = {g[0]};
  t.both(line, t.scale(0.5, t.add(g[0], g[2])), t.scale(0.5, g[1]));
  line.push_back(g[2]);
  return line;
}

Line output2(const Terms &t, ArrayRef<Value> m) {
  return {t.add(m[0], t.add(m[1], m[2])),
          t.subtract(t.subtract(m[1], m[2]), m[3])};
}

Line gradient2(const Terms &t, ArrayRef<Value> y) {
  Line line = {y[0]};
  t.both(line, y[0], y[1]);
  line.push_back(t.subtract({}, y[1]));
  return line;
}

Line weightGradient2(const Terms &t, ArrayRef<Value> m) {
  Value even = t.scale(0.5, t.add(m[1], m[2]));
  return {t.add(m[0], even), t.scale(0.5, t.subtract(m[1], m[2])),
          t.add(m[3], even)};
}

//===-- squares -----------------------------------------------------------===//

/// Applies a one-dimensional transform to the columns of a square, then to the
/// rows of what comes out.
WinogradSquare onBothSides(const Arithmetic &s, ValueRange values,
                           Line (*transform)(const Terms &, ArrayRef<Value>)) {
  Terms terms{s};
  size_t side = 1;
  while (side * side < values.size())
    ++side;
  SmallVector<Line, 6> columns;
  for (size_t x = 0; x < side; ++x) {
    Line column;
    for (size_t y = 0; y < side; ++y)
      column.push_back(values[y * side + x]);
    columns.push_back(transform(terms, column));
  }
  WinogradSquare square;
  for (size_t y = 0; y < columns[0].size(); ++y) {
    Line row;
    for (const Line &column : columns)
      row.push_back(column[y]);
    llvm::append_range(square, transform(terms, row));
  }
  return square;
}

} // namespace

WinogradSquare winogradInput(const Arithmetic &s, ValueRange d) {
  return onBothSides(s, d, d.size() == 36 ? input4 : input2);
}
WinogradSquare winogradWeights(const Arithmetic &s, ValueRange g,
                               int64_t tile) {
  return onBothSides(s, g, tile == 4 ? weights4 : weights2);
}
WinogradSquare winogradOutput(const Arithmetic &s, ValueRange m) {
  return onBothSides(s, m, m.size() == 36 ? output4 : output2);
}
WinogradSquare winogradGradient(const Arithmetic &s, ValueRange y) {
  return onBothSides(s, y, y.size() == 16 ? gradient4 : gradient2);
}
WinogradSquare winogradWeightGradient(const Arithmetic &s, ValueRange m) {
  return onBothSides(s, m, m.size() == 36 ? weightGradient4 : weightGradient2);
}

} // namespace gradus

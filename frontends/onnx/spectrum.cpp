// The discrete Fourier transform of ONNX. It is linear, so it is a product with
// a matrix of cosines and sines; pairs of numbers (real, imaginary) lie along
// the last axis.

#include "frontends/onnx/building.h"
#include "frontends/onnx/operators.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The transform along one axis: `in` numbers (of `inParts` parts, 1 if real)
/// give `out` ones of `outParts`; `length` is that of the whole signal.
struct Transform {
  int64_t in = 1, inParts = 1, out = 1, outParts = 2, length = 1;
  bool inverse = false, oneSided = false;

  int64_t rows() const { return in * inParts; }
  int64_t columns() const { return out * outParts; }
};

/// Adds what input `n`, standing at place `place` of the signal, gives to all
/// outputs; the place of a conjugate is negative.
void addTerm(const Transform &t, int64_t n, int64_t place, bool conjugate,
             std::vector<double> &matrix) {
  double sign = t.inverse ? 1 : -1, scale = t.inverse ? 1.0 / t.length : 1;
  for (int64_t k = 0; k < t.out; ++k) {
    double angle = sign * 2 * M_PI * double(place * k % t.length) / t.length;
    double parts[2][2] = {{std::cos(angle), std::sin(angle)},
                          {-std::sin(angle), std::cos(angle)}};
    for (int64_t i = 0; i < t.inParts; ++i)
      for (int64_t o = 0; o < t.outParts; ++o)
        matrix[(n * t.inParts + i) * t.columns() + k * t.outParts + o] +=
            scale * parts[i][o] * (i && conjugate ? -1 : 1);
  }
}

/// [rows, columns]; numbers beyond the signal's length are left out.
std::vector<double> matrixOf(const Transform &t) {
  std::vector<double> matrix(t.rows() * t.columns(), 0);
  for (int64_t n = 0; n < std::min(t.in, t.length); ++n) {
    bool half = t.inverse && t.oneSided;
    if (half && n > t.length / 2)
      continue;
    addTerm(t, n, n, false, matrix);
    if (half && n > 0 && 2 * n != t.length)
      addTerm(t, n, t.length - n, true, matrix);
  }
  return matrix;
}

/// The axis, by attribute before opset 20 and by input since.
absl::StatusOr<int64_t> axisOf(const Building &b, int64_t rank) {
  int64_t given = b.node.integer("axis", 1);
  if (b.node.opset() >= 20) {
    given = -2;
    if (!b.node.input(2).empty()) {
      GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> axes,
                              b.importer.integers(b.node, 2, "axis"));
      given = axes.size() == 1 ? axes[0] : rank;
    }
  }
  absl::StatusOr<int64_t> axis = normalAxis(given, rank);
  if (!axis.ok() || *axis == rank - 1)
    return b.node.error("axis ", given, " of rank ", rank,
                        " is none to transform along");
  return axis;
}

absl::StatusOr<Transform> transformOf(const Building &b,
                                      ArrayRef<int64_t> shape, int64_t axis) {
  const Node &node = b.node;
  Transform t;
  t.inverse = node.integer("inverse", 0);
  t.oneSided = node.integer("onesided", 0);
  t.in = shape[axis];
  t.inParts = shape.back();
  bool toReal = t.inverse && t.oneSided;
  SmallVector<int64_t> length = {toReal ? 2 * (t.in - 1) : t.in};
  if (!node.input(1).empty()) {
    GRADUS_ASSIGN_OR_RETURN(length, b.importer.integers(node, 1, "length"));
  }
  constexpr int64_t kLargest = int64_t(1) << 24; // of the matrix
  if (length.size() != 1 || length[0] < 1 || length[0] > kLargest)
    return node.error("its length is [", joined(length), "]");
  t.length = length[0];
  t.out = t.oneSided && !t.inverse ? t.length / 2 + 1 : t.length;
  t.outParts = toReal ? 1 : 2;
  if (t.inParts != 1 && t.inParts != 2)
    return node.error("its numbers have ", t.inParts,
                      " parts, expected 1 or "
                      "2");
  if (t.rows() > kLargest / t.columns())
    return node.error("a transform of ", t.length,
                      " elements is too large and not supported");
  return t;
}

absl::Status dft(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  int64_t rank = tensorType(input).getRank();
  if (rank < 2 || !Building::isFloat(input))
    return node.error("expected floats of rank 2 or more");
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, axisOf(b, rank));
  GRADUS_ASSIGN_OR_RETURN(Transform t,
                          transformOf(b, tensorType(input).getShape(), axis));
  // The axis and the parts come last, and are one row of the matrix.
  SmallVector<int64_t> order = axesExcept(rank, {axis, rank - 1}), back(rank);
  order.append({axis, rank - 1});
  for (int64_t i = 0; i < rank; ++i)
    back[order[i]] = i;
  Value turned = b.permuted(input, order);
  SmallVector<int64_t> shape(tensorType(turned).getShape());
  Value flat = b.shaped(
      turned, {tensorType(input).getNumElements() / t.rows(), t.rows()});
  Constant matrix =
      zeros(tensorType(input).getElementType(), {t.rows(), t.columns()});
  matrix.tensor.floats = matrixOf(t);
  Value right =
      arith::ConstantOp::create(b.builder, b.location, toAttribute(matrix));
  Value result = matmul(b.builder, b.location, flat, right);
  shape[rank - 2] = t.out;
  shape[rank - 1] = t.outParts;
  return importer.define(node, 0, b.permuted(b.shaped(result, shape), back));
}

const Operator kOperators[] = {
    {"DFT",
     {17, "input",
      "computed `dft_length`, `axis`; transforms of very many elements"},
     dft}};

} // namespace

llvm::ArrayRef<Operator> spectrumOperators() { return kOperators; }

} // namespace gradus::onnx

// ONNX's discrete Fourier transforms, of a whole signal or of its frames. They
// are linear, so each is a matmul with a matrix of cosines and sines; pairs of
// numbers (real, imaginary) are on the last axis.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;

constexpr int64_t kLargest = int64_t(1) << 24; // elements of a matrix

/// The transform along one axis: `in` numbers (of `inParts` parts, 1 if real)
/// give `out` numbers of `outParts`; `length` is that of the whole signal.
struct Transform {
  int64_t in = 1, inParts = 1, out = 1, outParts = 2, length = 1;
  bool inverse = false, oneSided = false;

  int64_t rows() const { return in * inParts; }
  int64_t columns() const { return out * outParts; }
};

/// Adds the contribution of input `n`, at index `place` of the signal, to all
/// outputs; with `conjugate` that of its conjugate.
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

/// The matrix [rows, columns]; inputs beyond the signal's length are ignored.
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

/// The axis, an attribute before opset 20 and an input since.
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

/// Transforms rows of signals [.., rows()] to [.., columns()].
Value transformed(const Building &b, const Transform &t, Value rows) {
  Constant matrix =
      zeros(tensorType(rows).getElementType(), {t.rows(), t.columns()});
  matrix.tensor.floats = matrixOf(t);
  Value right =
      arith::ConstantOp::create(b.builder, b.loc, toAttribute(matrix));
  return matmul(b.builder, b.loc, rows, right);
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
  // Axis and parts are moved to the end, where they match a row of the matrix.
  SmallVector<int64_t> order = axesExcept(rank, {axis, rank - 1}), back(rank);
  order.append({axis, rank - 1});
  for (int64_t i = 0; i < rank; ++i)
    back[order[i]] = i;
  Value turned = b.permuted(input, order);
  SmallVector<int64_t> shape(tensorType(turned).getShape());
  Value flat = b.shaped(
      turned, {tensorType(input).getNumElements() / t.rows(), t.rows()});
  Value result = transformed(b, t, flat);
  shape[rank - 2] = t.out;
  shape[rank - 1] = t.outParts;
  return importer.define(node, 0, b.permuted(b.shaped(result, shape), back));
}

//===-- STFT --------------------------------------------------------------===//

/// A signal [N, length, parts] and its frames of equal length, whose starts are
/// `step` apart.
struct Frames {
  Value signal, window; // null: all 1
  int64_t length = 1, step = 1, count = 1;
};

/// Reads the single positive integer of an input.
absl::StatusOr<int64_t> positive(const Building &b, int input,
                                 const char *what) {
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> found,
                          b.importer.integers(b.node, input, what));
  if (found.size() == 1 && found[0] >= 1 && found[0] <= INT32_MAX)
    return found[0];
  return b.node.error("its ", what, " is [", joined(found),
                      "], expected one number of at least 1");
}

/// The signal [N, length, parts]; PyTorch's exporter omits the last axis of
/// real signals.
absl::StatusOr<Value> signalOf(const Building &b) {
  GRADUS_ASSIGN_OR_RETURN(Value signal, b.importer.value(b.node, 0));
  SmallVector<int64_t> shape(tensorType(signal).getShape());
  if (shape.size() == 2) {
    shape.push_back(1);
    signal = b.shaped(signal, shape);
  }
  if (shape.size() != 3)
    return b.node.error("its signal has rank ", shape.size(),
                        ", expected [batch, length] or [batch, length, parts]");
  return signal;
}

absl::StatusOr<Frames> readFrames(const Building &b) {
  const Node &node = b.node;
  Frames frames;
  GRADUS_ASSIGN_OR_RETURN(frames.signal, signalOf(b));
  GRADUS_ASSIGN_OR_RETURN(frames.step, positive(b, 1, "frame_step"));
  int64_t all = tensorType(frames.signal).getDimSize(1);
  frames.length = all;
  if (!node.input(2).empty()) {
    GRADUS_ASSIGN_OR_RETURN(frames.window, b.importer.value(node, 2, 1));
    frames.length = tensorType(frames.window).getDimSize(0);
  }
  if (!node.input(3).empty()) {
    GRADUS_ASSIGN_OR_RETURN(frames.length, positive(b, 3, "frame_length"));
  }
  if (frames.window && tensorType(frames.window).getDimSize(0) != frames.length)
    return node.error("its window has ",
                      tensorType(frames.window).getDimSize(0),
                      " elements, but its frames ", frames.length);
  if (frames.length > all)
    return node.error("frames of ", frames.length,
                      " elements do not fit a signal of ", all);
  frames.count = (all - frames.length) / frames.step + 1;
  return frames;
}

absl::StatusOr<Transform> transformOf(const Building &b, const Frames &frames) {
  Transform t;
  t.oneSided = b.node.integer("onesided", 1);
  t.in = t.length = frames.length;
  t.inParts = tensorType(frames.signal).getDimSize(2);
  t.out = t.oneSided ? t.length / 2 + 1 : t.length;
  if (t.inParts != 1 && t.inParts != 2)
    return b.node.error("its numbers have ", t.inParts,
                        " parts, expected 1 or 2");
  if (t.inParts == 2 && t.oneSided)
    return b.node.error("onesided is 1, but its signal is complex, whose "
                        "transform has two sides");
  if (t.rows() > kLargest / t.columns())
    return b.node.error("a transform of ", t.length,
                        " elements is too large and not supported");
  return t;
}

/// The frames times the window, [N, count, length, parts].
Value framesOf(const Building &b, const Frames &f) {
  ArrayRef<int64_t> signal = tensorType(f.signal).getShape();
  Value taken = b.gatherAlong(f.signal, 1, f.count * f.length, [&](int64_t i) {
    return i / f.length * f.step + i % f.length;
  });
  SmallVector<int64_t> shape = {signal[0], f.count, f.length, signal[2]};
  Value frames = b.shaped(taken, shape);
  if (!f.window)
    return frames;
  Value window = castTo(b, f.window, tensorType(frames).getElementType());
  return b.multiply(frames, broadcast(b.builder, b.loc, window, shape, {2}));
}

absl::Status stft(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Frames frames, readFrames(b));
  if (!Building::isFloat(frames.signal) ||
      (frames.window && !Building::isFloat(frames.window)))
    return node.error("its signal and its window must be floats; others are "
                      "not supported");
  GRADUS_ASSIGN_OR_RETURN(Transform t, transformOf(b, frames));
  int64_t samples = tensorType(frames.signal).getDimSize(0);
  Value rows =
      b.shaped(framesOf(b, frames), {samples * frames.count, t.rows()});
  return importer.define(node, 0,
                         b.shaped(transformed(b, t, rows),
                                  {samples, frames.count, t.out, t.outParts}));
}

const Operator kOperators[] = {
    {"STFT",
     {17, "signal, window",
      "computed `frame_step`, `frame_length`; transforms of very many "
      "elements"},
     stft},
    {"DFT",
     {17, "input",
      "computed `dft_length`, `axis`; transforms of very many elements"},
     dft}};

} // namespace

llvm::ArrayRef<Operator> spectrumOperators() { return kOperators; }

} // namespace gradus::onnx

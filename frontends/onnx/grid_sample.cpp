// ONNX ops that read images where a grid of coordinates says: values between
// pixels are weighted sums of pixels around, each of them a gather.

#include "frontends/onnx/building.h"
#include "frontends/onnx/operators.h"
#include "frontends/onnx/size_limits.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using FloatIs = arith::CmpFPredicate;

//===-- coordinates -------------------------------------------------------===//

/// One spatial axis of the image, and how what lies outside is treated.
struct Axis {
  int64_t size = 1;
  bool alignCorners = false;
  std::string padding = "zeros"; // zeros, border, reflection

  double low() const { return alignCorners ? 0 : -0.5; }
  double high() const { return alignCorners ? size - 1.0 : size - 0.5; }
};

Value clipped(const Building &b, Value x, double low, double high) {
  return b.make<ClipOp>(x.getType(), x, b.builder.getF64FloatAttr(low),
                        b.builder.getF64FloatAttr(high));
}

Value scaled(const Building &b, Value x, double factor, double shift) {
  return b.add(b.mul(x, b.number(factor, x)), b.number(shift, x));
}

/// From [-1, 1] to places of pixels.
Value placed(const Building &b, Value x, const Axis &axis) {
  double half = (axis.alignCorners ? axis.size - 1.0 : axis.size) / 2;
  return scaled(b, x, half, (axis.size - 1) / 2.0);
}

/// Thrown back by the borders until it lies between them.
Value reflected(const Building &b, Value x, const Axis &axis) {
  double low = axis.low(), range = axis.high() - low;
  if (range <= 0)
    return b.number(0, x);
  Value distance = b.make<math::AbsFOp>(scaled(b, x, 1, -low));
  Value turns = b.make<math::FloorOp>(scaled(b, distance, 1 / (2 * range), 0));
  Value rest = b.sub(distance, scaled(b, turns, 2 * range, 0));
  Value back = scaled(b, rest, -1, 2 * range);
  Value beyond =
      b.make<arith::CmpFOp>(FloatIs::OGT, rest, b.number(range, rest));
  return scaled(b, b.select(beyond, back, rest), 1, low);
}

/// A place beyond the borders brought back, if padding does so.
Value broughtBack(const Building &b, Value x, const Axis &axis) {
  if (axis.padding == "zeros")
    return x;
  auto is = [&](FloatIs predicate, double bound) {
    return b.make<arith::CmpFOp>(predicate, x, b.number(bound, x));
  };
  Value outside = b.make<arith::OrIOp>(is(FloatIs::OLT, axis.low()),
                                       is(FloatIs::OGT, axis.high()));
  Value inside = axis.padding == "border" ? clipped(b, x, 0, axis.size - 1.0)
                                          : reflected(b, x, axis);
  return b.select(outside, inside, x);
}

//===-- weights -----------------------------------------------------------===//

/// A pixel along one axis: its index (whole, inside), what it weighs, and
/// whether it is one (null: always).
struct Tap {
  Value index, weight, isPixel;
};

Tap tapAt(const Building &b, Value whole, Value weight, const Axis &axis) {
  double last = axis.size - 1.0;
  Value isPixel;
  if (axis.padding == "zeros")
    isPixel = b.make<arith::AndIOp>(
        b.make<arith::CmpFOp>(FloatIs::OGE, whole, b.number(0, whole)),
        b.make<arith::CmpFOp>(FloatIs::OLE, whole, b.number(last, whole)));
  if (axis.padding == "reflection")
    whole = b.make<math::RoundEvenOp>(reflected(b, whole, axis));
  Value index = castTo(b, clipped(b, whole, 0, last), b.builder.getI64Type());
  return {index, weight, isPixel};
}

/// Keys' cubic kernel with a = -0.75 at a distance from 0 to 1, or 1 to 2.
Value cubicNear(const Building &b, Value x) {
  const double a = -0.75;
  Value square = b.mul(x, x);
  return scaled(b, b.mul(scaled(b, x, a + 2, -(a + 3)), square), 1, 1);
}
Value cubicFar(const Building &b, Value x) {
  const double a = -0.75;
  Value inner = scaled(b, b.mul(scaled(b, x, a, -5 * a), x), 1, 8 * a);
  return scaled(b, b.mul(inner, x), 1, -4 * a);
}

SmallVector<Tap> tapsOf(const Building &b, Value x, const Axis &axis,
                        StringRef mode) {
  if (mode == "nearest") {
    x = broughtBack(b, b.make<math::RoundEvenOp>(x), axis);
    return {tapAt(b, x, Value(), axis)};
  }
  x = broughtBack(b, x, axis);
  Value floor = b.make<math::FloorOp>(x), part = b.sub(x, floor);
  Value rest = scaled(b, part, -1, 1);
  auto tap = [&](double offset, Value weight) {
    return tapAt(b, scaled(b, floor, 1, offset), weight, axis);
  };
  if (mode == "linear")
    return {tap(0, rest), tap(1, part)};
  return {tap(-1, cubicFar(b, scaled(b, part, 1, 1))),
          tap(0, cubicNear(b, part)), tap(1, cubicNear(b, rest)),
          tap(2, cubicFar(b, scaled(b, rest, 1, 1)))};
}

//===-- GridSample --------------------------------------------------------===//

/// What the node says, checked. The image is [N, C, pixels], the grid
/// [N, points, axes].
struct Sampling {
  Value image, grid;
  SmallVector<Axis> axes;
  SmallVector<int64_t> result;
  std::string mode;
};

/// The values at the taps' pixel, [N, C, points], times their weights.
Value sampledAt(const Building &b, const Sampling &s, ArrayRef<Tap> taps) {
  Value position, weight, isPixel;
  for (auto [tap, axis] : llvm::zip(taps, s.axes)) {
    position = position ? b.add(b.mul(position, b.number(axis.size, position)),
                                tap.index)
                        : tap.index;
    if (tap.weight)
      weight = weight ? b.mul(weight, tap.weight) : tap.weight;
    if (tap.isPixel)
      isPixel =
          isPixel ? b.make<arith::AndIOp>(isPixel, tap.isPixel) : tap.isPixel;
  }
  SmallVector<int64_t> shape(tensorType(s.image).getShape());
  shape[2] = tensorType(position).getDimSize(1);
  Value values = b.make<GatherOp>(tensorType(s.image).clone(shape), s.image,
                                  position, /*axis=*/2, /*batch_dims=*/1);
  auto everyChannel = [&](Value value) {
    return broadcast(b.builder, b.location, value, shape, {0, 2});
  };
  Type element = tensorType(s.image).getElementType();
  if (weight)
    values = b.mul(values, everyChannel(castTo(b, weight, element)));
  return isPixel ? b.select(everyChannel(isPixel), values, b.number(0, values))
                 : values;
}

/// The sum over all combinations of one tap for each axis.
Value sampled(const Building &b, const Sampling &s,
              ArrayRef<SmallVector<Tap>> taps) {
  Value total;
  SmallVector<int64_t> counts;
  for (const SmallVector<Tap> &each : taps)
    counts.push_back(each.size());
  forEachIndex(counts, [&](ArrayRef<int64_t> index) {
    SmallVector<Tap> chosen;
    for (auto [each, i] : llvm::zip(taps, index))
      chosen.push_back(each[i]);
    Value term = sampledAt(b, s, chosen);
    total = total ? b.add(total, term) : term;
  });
  return total;
}

std::string modeOf(const Node &node) {
  std::string mode =
      node.text("mode", node.opset() < 20 ? "bilinear" : "linear");
  if (mode == "bilinear" || mode == "linear")
    return "linear";
  return mode == "bicubic" ? "cubic" : mode;
}

absl::Status judgeSampling(const Node &node) {
  std::string mode = modeOf(node), padding = node.text("padding_mode", "zeros");
  if (mode != "linear" && mode != "cubic" && mode != "nearest")
    return node.error("mode is \"", mode, "\", which is not supported");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return node.error("padding_mode is \"", padding,
                      "\", which is not supported");
  return absl::OkStatus();
}

absl::StatusOr<Sampling> readSampling(const Building &b) {
  const Node &node = b.node;
  Sampling s;
  GRADUS_ASSIGN_OR_RETURN(s.image, b.importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(s.grid, b.importer.value(node, 1));
  s.mode = modeOf(node);
  ArrayRef<int64_t> image = tensorType(s.image).getShape(),
                    grid = tensorType(s.grid).getShape();
  if (!Building::isFloat(s.image) || !Building::isFloat(s.grid))
    return node.error("its image and its grid must be floats; others are not "
                      "supported");
  if (image.size() < 3 || image.size() > 5 || grid.size() != image.size() ||
      grid[0] != image[0] || grid.back() != int64_t(image.size()) - 2)
    return node.error("a grid of shape [", joined(grid),
                      "] does not fit an image of shape [", joined(image), "]");
  for (int64_t size : image.drop_front(2))
    s.axes.push_back({size, node.integer("align_corners", 0) != 0,
                      node.text("padding_mode", "zeros")});
  s.result = {image[0], image[1]};
  llvm::append_range(s.result, grid.drop_front().drop_back());
  int64_t points = tensorType(s.grid).getNumElements() / grid[0] / grid.back();
  s.image = b.shaped(
      s.image, {image[0], image[1],
                tensorType(s.image).getNumElements() / (image[0] * image[1])});
  s.grid = b.shaped(s.grid, {grid[0], points, grid.back()});
  return s;
}

absl::Status gridSample(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Sampling s, readSampling(b));
  // Narrow floats do not tell the pixels of a large image apart.
  Type element = computeType(tensorType(s.image).getElementType());
  ArrayRef<int64_t> grid = tensorType(s.grid).getShape();
  SmallVector<SmallVector<Tap>> taps;
  for (auto [i, axis] : llvm::enumerate(s.axes)) {
    // The grid names the last axis first.
    int64_t column = grid.back() - 1 - int64_t(i);
    Value x = b.make<SliceOp>(
        tensorType(s.grid).clone(ArrayRef<int64_t>{grid[0], grid[1], 1}),
        s.grid, ArrayRef<int64_t>{0, 0, column}, ArrayRef<int64_t>{1, 1, 1});
    x = castTo(b, b.shaped(x, {grid[0], grid[1]}), element);
    taps.push_back(tapsOf(b, placed(b, x, axis), axis, s.mode));
  }
  return importer.define(node, 0, b.shaped(sampled(b, s, taps), s.result));
}

//===-- AffineGrid --------------------------------------------------------===//

/// Coordinates of all points, the last axis first, and a one: [points, k + 1].
Constant homogeneous(Type element, ArrayRef<int64_t> sizes, bool alignCorners) {
  int64_t columns = sizes.size() + 1, points = 1;
  for (int64_t size : sizes)
    points *= size;
  Constant grid = zeros(element, {points, columns});
  auto next = grid.tensor.floats.begin();
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    for (int64_t d = columns - 2; d >= 0; --d) {
      double size = sizes[d], i = index[d];
      *next++ = !alignCorners ? (2 * i + 1) / size - 1
                : size > 1    ? 2 * i / (size - 1) - 1
                              : -1;
    }
    *next++ = 1;
  });
  return grid;
}

/// The points of an image carried along by each of N affine maps.
absl::Status affineGrid(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value maps, importer.value(node, 0, 3));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> size,
                          importer.integers(node, 1, "size"));
  ArrayRef<int64_t> shape = tensorType(maps).getShape();
  int64_t axes = int64_t(size.size()) - 2;
  bool fits = (axes == 2 || axes == 3) && shape[0] == size[0] &&
              shape[1] == axes && shape[2] == axes + 1;
  fits &= isWithin(size, kMostFolded) && !llvm::is_contained(size, 0);
  if (!fits || !Building::isFloat(maps))
    return node.error("maps of shape [", joined(shape),
                      "] do not fit a size of [", joined(size), "]");
  Constant grid = homogeneous(tensorType(maps).getElementType(),
                              ArrayRef(size).drop_front(2),
                              node.integer("align_corners", 0));
  SmallVector<int64_t> wide = {shape[0], grid.tensor.shape[0], axes + 1};
  Value ones =
      arith::ConstantOp::create(b.builder, b.location, toAttribute(grid));
  Value carried = matmul(b.builder, b.location,
                         broadcast(b.builder, b.location, ones, wide, {1, 2}),
                         maps, /*transposeA=*/false, /*transposeB=*/true);
  SmallVector<int64_t> result = {shape[0]};
  llvm::append_range(result, ArrayRef(size).drop_front(2));
  result.push_back(axes);
  return importer.define(node, 0, b.shaped(carried, result));
}

const Operator kOperators[] = {
    {"GridSample", {16, "X, grid", "integers", judgeSampling}, gridSample},
    {"AffineGrid", {20, "theta", "computed `size`"}, affineGrid}};

} // namespace

llvm::ArrayRef<Operator> gridSampleOperators() { return kOperators; }

} // namespace gradus::onnx

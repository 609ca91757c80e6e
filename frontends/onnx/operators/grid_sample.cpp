// ONNX ops that read images at coordinates of a grid; see taps.h.

#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/taps.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// Converts [-1, 1] to pixel positions.
Value placed(const Building &b, Value x, const PixelAxis &axis) {
  double half = (axis.alignCorners ? axis.size - 1.0 : axis.size) / 2;
  return scaled(b, x, half, (axis.size - 1) / 2.0);
}

//===-- GridSample --------------------------------------------------------===//

/// The node's checked inputs. The image is [N, C, pixels], the grid [N, points,
/// axes].
struct Sampling {
  Value image, grid;
  SmallVector<PixelAxis> axes;
  SmallVector<int64_t> result;
  std::string mode;
};

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
  // Narrow floats cannot address each pixel of a large image.
  Type element = computeType(tensorType(s.image).getElementType());
  ArrayRef<int64_t> grid = tensorType(s.grid).getShape();
  SmallVector<SmallVector<Tap>> taps;
  for (auto [i, axis] : llvm::enumerate(s.axes)) {
    // The grid has the last axis first.
    int64_t column = grid.back() - 1 - int64_t(i);
    Value x = b.make<SliceOp>(
        tensorType(s.grid).clone(ArrayRef<int64_t>{grid[0], grid[1], 1}),
        s.grid, ArrayRef<int64_t>{0, 0, column}, ArrayRef<int64_t>{1, 1, 1});
    x = castTo(b, b.shaped(x, {grid[0], grid[1]}), element);
    taps.push_back(tapsOf(b, placed(b, x, axis), axis, s.mode));
  }
  Pixels pixels = {s.image, /*axis=*/2, {}};
  for (const PixelAxis &axis : s.axes)
    pixels.sizes.push_back(axis.size);
  return importer.define(node, 0, b.shaped(sampled(b, pixels, taps), s.result));
}

//===-- AffineGrid --------------------------------------------------------===//

/// The coordinates of all points, last axis first, and a one: [points, k + 1].
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

/// Maps the points of an image by each of N affine maps.
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
  Value ones = arith::ConstantOp::create(b.builder, b.loc, toAttribute(grid));
  Value carried =
      matmul(b.builder, b.loc, broadcast(b.builder, b.loc, ones, wide, {1, 2}),
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

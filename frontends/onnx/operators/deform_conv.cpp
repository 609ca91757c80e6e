// DeformConv: a convolution that reads the elements of its window at offsets.
// The elements become columns; the rest is a matmul.

#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/taps.h"

#include "ir/window.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The node's checked inputs. Shapes: images [N, C, H, W], weight [O, C /
/// groups, kh, kw], offsets [N, parts * K * 2, h, w], mask [N, parts * K, h, w]
/// (null: all 1), where K is the number of window elements; each of `parts`
/// groups of channels has its own offsets.
struct Deformed {
  Value images, weight, offsets, mask;
  int64_t groups = 1, parts = 1;
  SmallVector<int64_t> size, strides, pads, dilations;

  ArrayRef<int64_t> shape() const { return tensorType(images).getShape(); }
  int64_t out() const { return tensorType(weight).getDimSize(0); }
  int64_t taps() const { return size[0] * size[1]; }
  int64_t batches() const { return shape()[0] * parts; }
  ArrayRef<int64_t> resultSizes() const {
    return tensorType(offsets).getShape().drop_front(2);
  }
  int64_t points() const { return llvm::product_of(resultSizes()); }
};

//===-- reading the node --------------------------------------------------===//

absl::Status checkWindow(const Node &node, const Deformed &d) {
  auto fits = [](ArrayRef<int64_t> values, size_t count, int64_t least) {
    return values.size() == count && llvm::all_of(values, [&](int64_t value) {
             return value >= least && value <= INT32_MAX;
           });
  };
  if (fits(d.size, 2, 1) && fits(d.strides, 2, 1) && fits(d.dilations, 2, 1) &&
      fits(d.pads, 4, 0))
    return absl::OkStatus();
  return node.error("kernel_shape is [", joined(d.size), "], strides [",
                    joined(d.strides), "], dilations [", joined(d.dilations),
                    "], pads [", joined(d.pads),
                    "]; expected 2 numbers of at least 1 each, and 4 pads of "
                    "at least 0");
}

absl::Status checkChannels(const Node &node, const Deformed &d) {
  ArrayRef<int64_t> weight = tensorType(d.weight).getShape();
  int64_t channels = d.shape()[1];
  if (d.groups < 1 || channels % d.groups || d.out() % d.groups ||
      weight[1] != channels / d.groups ||
      weight.drop_front(2) != ArrayRef<int64_t>(d.size))
    return node.error("a weight of shape [", joined(weight), "] in ", d.groups,
                      " groups does not fit images of shape [",
                      joined(d.shape()), "] and a kernel_shape of [",
                      joined(d.size), "]");
  if (d.parts < 1 || channels % d.parts)
    return node.error("offset_group is ", d.parts,
                      ", expected a divisor of its ", channels, " channels");
  return absl::OkStatus();
}

/// Checks that offsets and mask have a number for each element of each window.
absl::Status checkOffsets(const Node &node, const Deformed &d) {
  Window window = {d.size, d.strides, ArrayRef(d.pads).take_front(2),
                   ArrayRef(d.pads).drop_front(2), d.dilations};
  SmallVector<int64_t> expected = {d.shape()[0], d.parts * d.taps() * 2};
  for (int64_t axis : {0, 1})
    expected.push_back(window.outputSize(axis, d.shape()[2 + axis]));
  auto check = [&](const char *what, Value value) {
    ArrayRef<int64_t> found = tensorType(value).getShape();
    return found == ArrayRef<int64_t>(expected)
               ? absl::OkStatus()
               : node.error("its ", what, " has shape [", joined(found),
                            "], expected [", joined(expected), "]");
  };
  GRADUS_RETURN_IF_ERROR(check("offset", d.offsets));
  expected[1] /= 2;
  return d.mask ? check("mask", d.mask) : absl::OkStatus();
}

absl::StatusOr<Deformed> readDeformed(const Building &b) {
  const Node &node = b.node;
  Deformed d;
  GRADUS_ASSIGN_OR_RETURN(d.images, b.importer.value(node, 0));
  if (int64_t rank = tensorType(d.images).getRank(); rank != 4)
    return node.error("its input has rank ", rank,
                      "; only images of 2 spatial axes are supported");
  GRADUS_ASSIGN_OR_RETURN(d.weight, b.importer.value(node, 1, 4));
  GRADUS_ASSIGN_OR_RETURN(d.offsets, b.importer.value(node, 2, 4));
  if (!node.input(4).empty()) {
    GRADUS_ASSIGN_OR_RETURN(d.mask, b.importer.value(node, 4, 4));
  }
  d.groups = node.integer("group", 1);
  d.parts = node.integer("offset_group", 1);
  d.size = node.integers("kernel_shape",
                         tensorType(d.weight).getShape().drop_front(2));
  d.strides = node.integers("strides", {1, 1});
  d.dilations = node.integers("dilations", {1, 1});
  d.pads = node.integers("pads", {0, 0, 0, 0});
  GRADUS_RETURN_IF_ERROR(checkWindow(node, d));
  GRADUS_RETURN_IF_ERROR(checkChannels(node, d));
  GRADUS_RETURN_IF_ERROR(checkOffsets(node, d));
  SmallVector<int64_t> columns = {d.shape()[0], d.shape()[1], d.taps(),
                                  d.resultSizes()[0], d.resultSizes()[1]};
  if (!isWithin(columns, kMostElements))
    return node.error("would read [", joined(columns),
                      "] elements, expected at most ", kMostElements);
  return d;
}

//===-- columns -----------------------------------------------------------===//

/// Rearranges [N, parts * K * each, h, w] to [N * parts, points * K]: the
/// `which`-th of `each` numbers for each point and window element.
Value byPoint(const Building &b, const Deformed &d, Value numbers, int64_t each,
              int64_t which) {
  Value apart = b.shaped(numbers, {d.batches(), d.taps(), each, d.points()});
  Value one = b.shaped(b.cutAlong(apart, 2, which, 1),
                       {d.batches(), d.taps(), d.points()});
  Value turned = b.permuted(one, {0, 2, 1});
  return castTo(b, b.shaped(turned, {d.batches(), d.points() * d.taps()}),
                computeType(tensorType(numbers).getElementType()));
}

/// The positions along an axis without offsets: [points * K].
Value regularPlaces(const Building &b, const Deformed &d, int64_t axis,
                    Type element) {
  Constant places = zeros(element, {d.points() * d.taps()});
  int64_t next = 0;
  SmallVector<int64_t> all(d.resultSizes());
  all.append(d.size);
  forEachIndex(all, [&](ArrayRef<int64_t> index) {
    places.tensor.floats[next++] =
        double(index[axis] * d.strides[axis] - d.pads[axis] +
               index[2 + axis] * d.dilations[axis]);
  });
  return arith::ConstantOp::create(b.builder, b.loc, toAttribute(places));
}

/// The elements that the windows read, times the mask: [N * points, K * C].
Value columnsOf(const Building &b, const Deformed &d) {
  int64_t height = d.shape()[2], width = d.shape()[3];
  int64_t channels = d.shape()[1] / d.parts;
  Type element = computeType(tensorType(d.images).getElementType());
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t axis : {0, 1}) {
    Value offset = byPoint(b, d, d.offsets, 2, axis);
    Value regular = regularPlaces(b, d, axis, element);
    Value place = b.add(offset, broadcastLast(b.builder, b.loc, regular,
                                              tensorType(offset).getShape()));
    taps.push_back(linearTaps(b, place, {d.shape()[2 + axis]}));
  }
  if (d.mask)
    for (Tap &tap : taps[0])
      tap.weight = b.multiply(tap.weight, byPoint(b, d, d.mask, 1, 0));
  Value rows = b.permuted(b.shaped(castTo(b, d.images, element),
                                   {d.batches(), channels, height * width}),
                          {0, 2, 1});
  Value read = sampled(b, {rows, /*axis=*/1, {height, width}}, taps);
  if (d.parts > 1)
    read = b.permuted(b.shaped(read, {d.shape()[0], d.parts,
                                      d.points() * d.taps(), channels}),
                      {0, 2, 1, 3});
  return b.shaped(read, {d.shape()[0] * d.points(), d.taps() * d.shape()[1]});
}

//===-- the matmul --------------------------------------------------------===//

/// Columns times weights for each group: [N * points, O].
Value product(const Building &b, const Deformed &d, Value columns) {
  int64_t inputs = d.shape()[1] / d.groups, outputs = d.out() / d.groups;
  int64_t rows = tensorType(columns).getDimSize(0), taps = d.taps();
  Value weight = castTo(b, d.weight, tensorType(columns).getElementType());
  weight = b.permuted(b.shaped(weight, {d.groups, outputs, inputs, taps}),
                      {0, 1, 3, 2});
  if (d.groups == 1)
    return matmul(b.builder, b.loc, columns,
                  b.shaped(weight, {outputs, taps * inputs}),
                  /*transposeA=*/false, /*transposeB=*/true);
  Value apart = b.permuted(b.shaped(columns, {rows, taps, d.groups, inputs}),
                           {2, 0, 1, 3});
  Value each =
      matmul(b.builder, b.loc, b.shaped(apart, {d.groups, rows, taps * inputs}),
             b.shaped(weight, {d.groups, outputs, taps * inputs}),
             /*transposeA=*/false, /*transposeB=*/true);
  return b.shaped(b.permuted(each, {1, 0, 2}), {rows, d.out()});
}

absl::Status deformConv(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Deformed d, readDeformed(b));
  Value result = product(b, d, columnsOf(b, d));
  result = b.permuted(b.shaped(result, {d.shape()[0], d.points(), d.out()}),
                      {0, 2, 1});
  if (!node.input(3).empty()) {
    GRADUS_ASSIGN_OR_RETURN(Value bias, importer.value(node, 3, 1));
    if (tensorType(bias).getDimSize(0) != d.out())
      return node.error("its bias has ", tensorType(bias).getDimSize(0),
                        " elements, expected ", d.out());
    bias = castTo(b, bias, tensorType(result).getElementType());
    result = b.add(result, broadcast(b.builder, b.loc, bias,
                                     tensorType(result).getShape(), {1}));
  }
  result = castTo(b, result, tensorType(d.images).getElementType());
  return importer.define(
      node, 0,
      b.shaped(result, {d.shape()[0], d.out(), d.resultSizes()[0],
                        d.resultSizes()[1]}));
}

const Operator kOperators[] = {
    {"DeformConv",
     {19, "X, W, offset, B, mask", "other than 2 spatial axes"},
     ofFloats<deformConv>}};

} // namespace

llvm::ArrayRef<Operator> deformConvOperators() { return kOperators; }

} // namespace gradus::onnx

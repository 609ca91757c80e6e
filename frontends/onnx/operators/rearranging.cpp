// ONNX ops that exchange pixels and channels, hardmax, normalizations along
// axes; identities; and bit operations.

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/extremes.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

//===-- pixels and channels -----------------------------------------------===//

absl::StatusOr<Value> image(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0, 4));
  int64_t size = node.integer("blocksize", 0);
  if (size < 1 || size > INT32_MAX)
    return node.error("blocksize is ", size, ", expected at least 1",
                      size < 1 ? "" : message(" and at most ", INT32_MAX));
  return input;
}

/// [N, C, H, W] -> [N, C / b^2, H b, W b]; DCR reads the block's position from
/// the slow part of the channels, CRD from the fast one.
absl::Status depthToSpace(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, image(importer, node));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  int64_t size = node.integer("blocksize", 1), n = shape[0],
          channels = shape[1] / (size * size), h = shape[2], w = shape[3];
  if (channels * size * size != shape[1])
    return node.error("has ", shape[1], " channels, which is no multiple of ",
                      size * size);
  bool slow = node.text("mode", "DCR") == "DCR";
  Value split =
      slow ? b.permuted(b.shaped(input, {n, size, size, channels, h, w}),
                        {0, 3, 4, 1, 5, 2})
           : b.permuted(b.shaped(input, {n, channels, size, size, h, w}),
                        {0, 1, 4, 2, 5, 3});
  return importer.define(node, 0,
                         b.shaped(split, {n, channels, h * size, w * size}));
}

/// [N, C, H, W] -> [N, C b^2, H / b, W / b]: the inverse.
absl::Status spaceToDepth(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, image(importer, node));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  int64_t size = node.integer("blocksize", 1), n = shape[0], c = shape[1],
          h = shape[2] / size, w = shape[3] / size;
  if (h * size != shape[2] || w * size != shape[3])
    return node.error("its image of ", shape[2], " x ", shape[3],
                      " does not divide by ", size);
  bool slow = node.text("mode", "DCR") == "DCR";
  SmallVector<int64_t> order = slow ? SmallVector<int64_t>{0, 3, 5, 1, 2, 4}
                                    : SmallVector<int64_t>{0, 1, 3, 5, 2, 4};
  Value split = b.permuted(b.shaped(input, {n, c, h, size, w, size}), order);
  return importer.define(node, 0, b.shaped(split, {n, c * size * size, h, w}));
}

//===-- constants ---------------------------------------------------------===//

/// Checks the type of EyeLike: ones on a diagonal, in the shape of the input.
absl::Status judgeEye(const Node &node) {
  int64_t type = node.integer("dtype", ::onnx::TensorProto::FLOAT);
  return hasElementType(type) ? absl::OkStatus()
                              : node.error("elements of ", dataTypeName(type),
                                           " are not supported");
}

absl::Status eyeLike(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, importer.type(node, 0));
  if (type.getRank() != 2)
    return node.error("its input has rank ", type.getRank(), ", expected 2");
  Type element = type.getElementType();
  bool isUnsigned = importer.isUnsigned(node, 0);
  if (node.hasAttribute("dtype")) {
    element = elementType(node.integer("dtype", 0), importer.context());
    isUnsigned = onnx::isUnsigned(node.integer("dtype", 0));
  }
  Constant eye = zeros(element, type.getShape());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t shift = std::clamp(node.integer("k", 0), -rows, columns);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t column = row + shift;
    if (column < 0 || column >= columns)
      continue;
    if (eye.tensor.isFloat)
      eye.tensor.floats[row * columns + column] = 1;
    else
      eye.tensor.integers[row * columns + column] = 1;
  }
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, std::move(eye)));
  importer.setUnsigned(node, 0, isUnsigned);
  return absl::OkStatus();
}

//===-- hardmax -----------------------------------------------------------===//

/// One at the first largest element along the axis, zero elsewhere.
absl::Status hardmax(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis,
                          b.axis(shape.size(), node.opset() < 13 ? 1 : -1));
  if (node.opset() < 13 && axis != int64_t(shape.size()) - 1)
    return node.error("several axes at once (before opset 13) are not "
                      "supported");
  Value first = broadcastAlong(b.builder, b.loc,
                               placeOfExtreme(b, Reduction::max, input, axis),
                               shape, {axis});
  Value chosen =
      b.compare(arith::CmpIPredicate::eq, b.indicesAlong(shape, axis), first);
  return importer.define(
      node, 0, b.select(chosen, b.number(1, input), b.number(0, input)));
}

//===-- normalization -----------------------------------------------------===//

/// (x - mean) / (standard deviation + 1e-9) along `axes`.
absl::Status meanVarianceNormalization(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  auto axes = normalAxes(node.integers("axes", {0, 2, 3}), shape.size());
  if (!axes.ok())
    return node.error(axes.status().message());
  auto average = [&](Value value) {
    return broadcastAlong(b.builder, b.loc,
                          mean(b.builder, b.loc, value, *axes), shape, *axes);
  };
  Value centered = b.subtract(input, average(input));
  Value deviation = b.squareRoot(average(b.multiply(centered, centered)));
  return importer.define(
      node, 0, b.divide(centered, b.add(deviation, b.number(1e-9, input))));
}

/// x / (bias + alpha / size * sum of squares of near channels)^beta: the sum is
/// a matmul with a band of ones.
absl::Status localResponse(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  int64_t size = node.integer("size", 1);
  if (shape.size() < 3 || size < 1)
    return node.error("its input has rank ", shape.size(), " and size is ",
                      size, "; expected at least 3 and 1");
  int64_t n = shape[0], c = shape[1],
          rest = tensorType(input).getNumElements() / (n * c);
  Constant band = zeros(tensorType(input).getElementType(), {c, c});
  for (int64_t i = 0; i < c * c; ++i) {
    int64_t row = i / c, column = i % c;
    band.tensor.floats[i] =
        column >= row - (size - 1) / 2 && column - row <= size / 2;
  }
  Value ones = arith::ConstantOp::create(b.builder, b.loc, toAttribute(band));
  ones = broadcast(b.builder, b.loc, ones, {n, c, c}, {1, 2});
  Value squares = b.shaped(b.multiply(input, input), {n, c, rest});
  Value sums = b.shaped(matmul(b.builder, b.loc, ones, squares), shape);
  Value base =
      b.add(b.multiply(sums, b.number(node.number("alpha", 1e-4) / size, sums)),
            b.number(node.number("bias", 1), sums));
  Value power = b.power(base, b.number(node.number("beta", 0.75), base));
  return importer.define(node, 0, b.divide(input, power));
}

//===-- bits --------------------------------------------------------------===//

/// Broadcasts two inputs to their common shape.
absl::StatusOr<std::pair<Value, Value>> broadcastPair(const Building &b) {
  GRADUS_ASSIGN_OR_RETURN(Value left, b.importer.value(b.node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value right, b.importer.value(b.node, 1));
  auto shape =
      commonShape(tensorType(left).getShape(), tensorType(right).getShape());
  if (!shape.ok())
    return b.node.error(shape.status().message());
  return std::pair(broadcastLast(b.builder, b.loc, left, *shape),
                   broadcastLast(b.builder, b.loc, right, *shape));
}

template <typename Op>
absl::Status bitwise(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(auto inputs, broadcastPair(b));
  return importer.define(node, 0, b.make<Op>(inputs.first, inputs.second));
}

absl::Status bitwiseNot(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  return importer.define(node, 0,
                         b.make<arith::XOrIOp>(input, b.number(-1, input)));
}

/// Checks BitShift's direction. A shift by the width or more leaves only the
/// sign.
absl::Status judgeShift(const Node &node) {
  std::string direction = node.text("direction", "");
  return direction == "LEFT" || direction == "RIGHT"
             ? absl::OkStatus()
             : node.error("direction is \"", direction,
                          "\", expected LEFT or RIGHT");
}

absl::Status bitShift(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(auto inputs, broadcastPair(b));
  auto [x, shift] = inputs;
  Type element = tensorType(x).getElementType();
  if (!isa<IntegerType>(element) ||
      element != tensorType(shift).getElementType())
    return node.error("expected integers of one type");
  unsigned width = element.getIntOrFloatBitWidth();
  bool left = node.text("direction", "") == "LEFT";
  Value fits =
      b.compare(arith::CmpIPredicate::ult, shift, b.number(width, shift));
  shift = b.select(fits, shift, b.number(width - 1, shift));
  if (!left && !b.isUnsigned())
    return importer.define(node, 0, b.make<arith::ShRSIOp>(x, shift));
  Value shifted =
      left ? b.make<arith::ShLIOp>(x, shift) : b.make<arith::ShRUIOp>(x, shift);
  return importer.define(node, 0, b.select(fits, shifted, b.number(0, x)));
}

/// Reinterprets the bits as another type of the same size.
absl::Status bitCast(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  int64_t to = node.integer("to", 0);
  RankedTensorType type = tensorType(input);
  Type from = type.getElementType(),
       element = elementType(to, importer.context());
  auto bytes = [](Type each) { return (each.getIntOrFloatBitWidth() + 7) / 8; };
  if (bytes(from) != bytes(element))
    return node.error("casts elements of ", bytes(from), " bytes to such of ",
                      bytes(element));
  bool moves = isa<FloatType>(from) || isa<FloatType>(element);
  Value result = moves ? b.make<arith::BitcastOp>(type.clone(element), input)
                       : castTo(b, input, element);
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, result));
  importer.setUnsigned(node, 0, isUnsigned(to));
  return absl::OkStatus();
}

//===-- export ------------------------------------------------------------===//

/// Booleans have the nodes And, Or and Xor.
absl::Status writeBitwise(const OpWriter &w, const char *node) {
  StringRef name = node;
  if (w.type().getElementType().isInteger(1))
    name.consume_front("Bitwise");
  return w.define(name, w.spread());
}

/// ONNX shifts unsigned integers.
absl::Status writeShift(const OpWriter &w, const char *node) {
  bool isLeft = isa<arith::ShLIOp>(w.op);
  return w.defineUnsigned(node, w.spreadUnsigned(),
                          {attribute("direction", isLeft ? "LEFT" : "RIGHT")});
}

absl::Status writeBitCast(const OpWriter &w, const char *node) {
  w.graph.needOpset(26);
  return w.define(
      node, {w.input(0)},
      {attribute("to", int64_t(dataType(w.type().getElementType())))});
}

const Operator kOperators[] = {
    {"DepthToSpace", {6, "input"}, depthToSpace},
    {"SpaceToDepth", {6, "input"}, spaceToDepth},
    {"EyeLike",
     {9, "", "ranks other than 2", judgeEye},
     eyeLike,
     nullptr,
     /*foldsByEvaluation=*/false},
    {"Hardmax",
     {6, "", "before opset 13 an `axis` but the last"},
     ofFloats<hardmax>},
    {"MeanVarianceNormalization",
     {9, "X"},
     ofFloats<meanVarianceNormalization>},
    {"LRN", {6, "X"}, ofFloats<localResponse>},
    {"BitwiseAnd", {18}, ofIntegers<bitwise<arith::AndIOp>>},
    {"BitwiseOr", {18}, ofIntegers<bitwise<arith::OrIOp>>},
    {"BitwiseXor", {18}, ofIntegers<bitwise<arith::XOrIOp>>},
    {"BitwiseNot", {18}, ofIntegers<bitwiseNot>},
    {"BitShift", {11, "", "", judgeShift}, bitShift},
    {"BitCast", {26, "", "types that Gradus has not", judgeCast}, bitCast},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"arith.andi", "BitwiseAnd", writeBitwise},
    {"arith.ori", "BitwiseOr", writeBitwise},
    {"arith.xori", "BitwiseXor", writeBitwise},
    {"arith.shli", "BitShift", ofNumbers<writeShift>},
    {"arith.shrui", "BitShift", ofNumbers<writeShift>},
    {"arith.bitcast", "BitCast", writeBitCast},
};

} // namespace

llvm::ArrayRef<Operator> rearrangingOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> rearrangingExports() { return kExports; }

} // namespace gradus::onnx

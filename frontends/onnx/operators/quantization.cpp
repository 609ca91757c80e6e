// ONNX ops of quantized tensors: real = (integer - zero point) * scale, with a
// scale and a zero point for the whole tensor, for each slice along an axis, or
// for each block of slices.
//
// Matmuls of small integers are computed in f64, which is exact for their sums.

#include "frontends/onnx/operators/fake_quantize.h"
#include "frontends/onnx/operators/operators.h"

#include "frontends/onnx/file/onnx.pb.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using Types = ::onnx::TensorProto;

//===-- scales and zero points --------------------------------------------===//

/// Broadcasts scales or zero points to `shape`.
absl::StatusOr<Value> spread(const Building &b, Value each,
                             ArrayRef<int64_t> shape, int64_t fallbackAxis) {
  RankedTensorType type = tensorType(each);
  if (type.getNumElements() == 1) {
    b.node.ignore("axis"); // All elements share it.
    b.node.ignore("block_size");
    return broadcastScalar(b.builder, b.loc, b.shaped(each, {}), shape);
  }
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(shape.size(), fallbackAxis));
  int64_t block = b.node.integer("block_size", 0);
  auto misfit = [&] {
    return b.node.error(
        "a scale or zero point of shape [", joined(type.getShape()),
        "] does not fit a tensor of shape [", joined(shape), "]");
  };
  if (block <= 0)
    return type.getRank() == 1 && type.getDimSize(0) == shape[axis]
               ? broadcast(b.builder, b.loc, each, shape, {axis})
               : absl::StatusOr<Value>(misfit());
  SmallVector<int64_t> expected(shape);
  expected[axis] = (shape[axis] - 1) / block + 1;
  if (type.getShape() != ArrayRef<int64_t>(expected))
    return misfit();
  return b.gatherAlong(each, axis, shape[axis],
                       [&](int64_t i) { return i / block; });
}

/// Converts a node's input to another element type; keeps the gradient if there
/// is one.
absl::StatusOr<Value> numbers(const Building &b, int input, Type element) {
  if (Value floats = b.importer.asFloats(b.node, input))
    return castTo(b, floats, element);
  GRADUS_ASSIGN_OR_RETURN(Value value, b.importer.value(b.node, input));
  return castTo(b, value, element, b.isUnsigned(input));
}

/// An input minus its zero point, which lies along an axis unless it is a
/// scalar.
absl::StatusOr<Value> centered(const Building &b, int input, int zeroPoint,
                               Type element, int64_t axis = 1) {
  GRADUS_ASSIGN_OR_RETURN(Value value, numbers(b, input, element));
  if (b.node.input(zeroPoint).empty())
    return value;
  GRADUS_ASSIGN_OR_RETURN(Value zero, numbers(b, zeroPoint, element));
  GRADUS_ASSIGN_OR_RETURN(zero,
                          spread(b, zero, tensorType(value).getShape(), axis));
  return b.subtract(value, zero);
}

//===-- rounding ----------------------------------------------------------===//

/// The type of a quantized result.
struct Quantized {
  Type element;
  bool isUnsigned = false;

  double low() const { return isUnsigned ? 0 : -std::ldexp(1, width() - 1); }
  double high() const {
    return std::ldexp(1, width() - (isUnsigned ? 0 : 1)) - 1;
  }
  int width() const { return element.getIntOrFloatBitWidth(); }
};

absl::StatusOr<Quantized> quantizedLike(const Building &b, int zeroPoint,
                                        int64_t otherwise) {
  if (!b.node.input(zeroPoint).empty()) {
    GRADUS_ASSIGN_OR_RETURN(RankedTensorType type,
                            b.importer.type(b.node, zeroPoint));
    otherwise = 0;
    if (auto whole = dyn_cast<IntegerType>(type.getElementType());
        whole && whole.getWidth() <= 16 && whole.getWidth() > 1)
      return Quantized{whole, b.isUnsigned(zeroPoint)};
  }
  Type element = elementType(otherwise, b.importer.context());
  if (!element || !element.isInteger() || element.getIntOrFloatBitWidth() > 16)
    return b.node.error("quantizes to ", dataTypeName(otherwise),
                        ", which is not supported");
  return Quantized{element, isUnsigned(otherwise)};
}

/// Refuses an `output_dtype` that is not the type of the zero point.
absl::Status checkOutputType(const Building &b, int64_t wanted,
                             const Quantized &type) {
  if (wanted == 0 ||
      (elementType(wanted, b.importer.context()) == type.element &&
       isUnsigned(wanted) == type.isUnsigned))
    return absl::OkStatus();
  return b.node.error("its attribute \"output_dtype\" is ",
                      dataTypeName(wanted), ", expected ",
                      type.isUnsigned ? "UINT" : "INT", type.width(),
                      ", the type of its zero point");
}

/// Clips `scaled` to the range of the type, rounds it (ties to even) and
/// defines the output. Inside the range the gradient goes to `source`, if there
/// is one.
absl::Status defineQuantized(const Building &b, int output, Value scaled,
                             const Quantized &type, Value source = {}) {
  Builder attributes(b.builder);
  Value cut = b.make<ClipOp>(scaled.getType(), scaled,
                             attributes.getF64FloatAttr(type.low()),
                             attributes.getF64FloatAttr(type.high()));
  Value rounded = b.make<math::RoundEvenOp>(cut);
  GRADUS_RETURN_IF_ERROR(b.importer.define(
      b.node, output,
      castTo(b, rounded, type.element, false, type.isUnsigned)));
  b.importer.setUnsigned(b.node, output, type.isUnsigned);
  if (source)
    b.importer.setFloats(
        b.node, output,
        straightThrough(b, scaled, source, {type.low(), type.high()}));
  return absl::OkStatus();
}

//===-- to and from integers ----------------------------------------------===//

/// Makes a scale a buffer unless something names it a parameter: PyTorch's
/// FakeQuantize keeps its scales as buffers, and TorchScript's files do not say
/// so.
void keepScale(const Building &b, Value scale) {
  if (b.importer.isStraightThrough() &&
      !b.importer.isSaidParameter(b.node.input(1)))
    b.importer.makeBuffer(scale);
}

absl::Status quantize(Importer &importer, const Node &node) {
  Building b(importer, node);
  int64_t wanted = node.integer("output_dtype", 0);
  GRADUS_ASSIGN_OR_RETURN(Quantized type,
                          quantizedLike(b, 2, wanted ? wanted : Types::UINT8));
  GRADUS_RETURN_IF_ERROR(checkOutputType(b, wanted, type));
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  Type real = computeType(tensorType(x).getElementType());
  if (!isa<FloatType>(real))
    real = b.builder.getF32Type();
  GRADUS_RETURN_IF_ERROR(checkPrecision(node, "precision", real, 0));
  x = castTo(b, x, real);
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  GRADUS_ASSIGN_OR_RETURN(Value scale, numbers(b, 1, real));
  keepScale(b, scale);
  GRADUS_ASSIGN_OR_RETURN(scale, spread(b, scale, shape, 1));
  Value steps = b.divide(x, scale);
  Value scaled = b.make<math::RoundEvenOp>(steps);
  if (!node.input(2).empty()) {
    GRADUS_ASSIGN_OR_RETURN(Value zero, numbers(b, 2, real));
    GRADUS_ASSIGN_OR_RETURN(zero, spread(b, zero, shape, 1));
    scaled = b.add(scaled, zero);
  }
  bool passes = importer.isStraightThrough();
  if (!passes && !importer.constant(node, 0))
    importer.trainingNotes.addRounding();
  return defineQuantized(b, 0, scaled, type, passes ? steps : Value());
}

absl::Status dequantize(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType scaleType, importer.type(node, 1));
  Type result = scaleType.getElementType();
  if (int64_t wanted = node.integer("output_dtype", 0))
    result = elementType(wanted, importer.context());
  if (!isa_and_nonnull<FloatType>(result))
    return node.error("expected floats as its scale and output_dtype; others "
                      "are not supported");
  Type real = computeType(result);
  GRADUS_ASSIGN_OR_RETURN(Value x, centered(b, 0, 2, real));
  GRADUS_ASSIGN_OR_RETURN(Value scale, numbers(b, 1, real));
  GRADUS_ASSIGN_OR_RETURN(scale, spread(b, scale, tensorType(x).getShape(), 1));
  return importer.define(node, 0, castTo(b, b.multiply(x, scale), result));
}

/// Quantizes to u8 with a scale from the largest and the smallest element.
absl::Status quantizeDynamically(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  if (!tensorType(x).getElementType().isF32())
    return node.error("its input holds no f32");
  auto extreme = [&](Reduction kind) {
    return reduce(b.builder, b.loc, kind, x, allAxes(tensorType(x).getRank()));
  };
  Value high = extreme(Reduction::max), zero = b.number(0, high);
  high = b.larger(high, zero);
  Value low = b.smaller(extreme(Reduction::min), zero);
  Value same = b.compare(arith::CmpFPredicate::OEQ, high, low);
  Value range = b.select(same, b.number(1, high), b.subtract(high, low));
  Value scale = b.divide(range, b.number(255, range));
  Value shift =
      b.make<math::RoundEvenOp>(b.divide(b.subtract(zero, low), scale));
  auto everywhere = [&](Value value) {
    return broadcastScalar(b.builder, b.loc, value, tensorType(x).getShape());
  };
  Value scaled = b.make<math::RoundEvenOp>(b.divide(x, everywhere(scale)));
  Quantized type{b.builder.getI8Type(), true};
  GRADUS_RETURN_IF_ERROR(
      defineQuantized(b, 0, b.add(scaled, everywhere(shift)), type));
  GRADUS_RETURN_IF_ERROR(importer.define(node, 1, scale));
  return defineQuantized(b, 2, shift, type);
}

//===-- matmuls -----------------------------------------------------------===//

/// [.., m, k] times [.., k, n]; the leading dimensions are equal, or only one
/// side has them.
absl::StatusOr<Value> product(const Building &b, Value left, Value right) {
  int64_t rank = tensorType(left).getRank();
  SmallVector<int64_t> shape(tensorType(right).getShape());
  bool fits = rank >= 2 && shape.size() >= 2 && rank >= int64_t(shape.size()) &&
              tensorType(left).getShape().back() == shape[shape.size() - 2];
  SmallVector<int64_t> wide(
      tensorType(left).getShape().drop_back(fits ? 2 : 0));
  if (fits)
    wide.append(shape.end() - 2, shape.end());
  auto common = commonShape(wide, shape);
  if (!fits || !common.ok() || ArrayRef<int64_t>(*common) != ArrayRef(wide))
    return b.node.error("matrices of shapes [",
                        joined(tensorType(left).getShape()), "] and [",
                        joined(shape), "] are not supported");
  right = broadcastLast(b.builder, b.loc, right, wide);
  return matmul(b.builder, b.loc, left, right);
}

absl::Status matMulInteger(Importer &importer, const Node &node) {
  Building b(importer, node);
  Type exact = b.builder.getF64Type();
  GRADUS_ASSIGN_OR_RETURN(Value left, centered(b, 0, 2, exact, -2));
  GRADUS_ASSIGN_OR_RETURN(Value right, centered(b, 1, 3, exact, -1));
  GRADUS_ASSIGN_OR_RETURN(Value result, product(b, left, right));
  return importer.define(node, 0, castTo(b, result, b.builder.getI32Type()));
}

/// The inputs are a, its scale and zero point, b, its scale and zero point, and
/// those of the result.
absl::Status quantizedMatMul(Importer &importer, const Node &node) {
  Building b(importer, node);
  Type exact = b.builder.getF64Type();
  GRADUS_ASSIGN_OR_RETURN(Quantized type, quantizedLike(b, 7, Types::UINT8));
  GRADUS_ASSIGN_OR_RETURN(Value left, centered(b, 0, 2, exact, -2));
  GRADUS_ASSIGN_OR_RETURN(Value right, centered(b, 3, 5, exact, -1));
  GRADUS_ASSIGN_OR_RETURN(Value result, product(b, left, right));
  ArrayRef<int64_t> shape = tensorType(result).getShape();
  Value parts[4];
  const std::pair<int, int64_t> inputs[] = {{1, -2}, {4, -1}, {6, -1}, {7, -1}};
  for (int i = 0; i < 4; ++i) {
    GRADUS_ASSIGN_OR_RETURN(parts[i], numbers(b, inputs[i].first, exact));
    GRADUS_ASSIGN_OR_RETURN(parts[i],
                            spread(b, parts[i], shape, inputs[i].second));
  }
  Value factor = b.divide(b.multiply(parts[0], parts[1]), parts[2]);
  return defineQuantized(b, 0, b.add(b.multiply(result, factor), parts[3]),
                         type);
}

constexpr Ignored kIgnored[] = {{"saturate", kWhyNarrow}};

const Operator kOperators[] = {
    {"QuantizeLinear",
     {10, "",
      "types of more than 16 bits, or less than 8; `precision` but "
      "that of `x`",
      nullptr, "", kIgnored},
     quantize},
    {"DequantizeLinear",
     {10, "x_scale", "`output_dtype` of other than floats"},
     dequantize},
    {"DynamicQuantizeLinear", {11, "x"}, quantizeDynamically},
    {"MatMulInteger", {10}, matMulInteger},
    {"QLinearMatMul",
     {10, "", "types of more than 16 bits, or less than 8"},
     quantizedMatMul},
};

} // namespace

llvm::ArrayRef<Operator> quantizationOperators() { return kOperators; }

} // namespace gradus::onnx

// The reference evaluation of arith and math ops, whose functions on single
// elements stand in scalar_ops.def.
//
// A function's parameter types say how elements are read: double, int64_t
// (signed) or uint64_t (the bits, zero-extended). Integer results wrap around
// at the width of the op's type; booleans are 0 and 1.

#include "ir/evaluator/evaluator.h"
#include "ir/external_models.h"
#include "ir/rounded.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

//===-- elements ----------------------------------------------------------===//

static unsigned widthOf(Value value) {
  Type type = getElementTypeOrSelf(value);
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// Element `i`, converted to the parameter type of the function.
template <typename Number>
static Number read(const HostTensor &tensor, int64_t i, unsigned width) {
  if constexpr (std::is_same_v<Number, double>)
    return tensor.floats[i];
  else if constexpr (std::is_same_v<Number, uint64_t>)
    return uint64_t(tensor.integers[i]) &
           llvm::maskTrailingOnes<uint64_t>(width);
  else
    return llvm::SignExtend64(tensor.integers[i], width);
}

static int64_t wrap(int64_t value, unsigned width) {
  return width == 1 ? value & 1 : llvm::SignExtend64(value, width);
}

template <typename Result, typename... Args, size_t... position>
static HostTensor apply(Operation *op, Result (*function)(Args...),
                        ArrayRef<HostTensor> operands,
                        std::index_sequence<position...>) {
  unsigned width = widthOf(op->getResult(0));
  unsigned widths[] = {widthOf(op->getOperand(position))...};
  HostTensor result = zeros(operands[0].shape, std::is_same_v<Result, double>);
  for (int64_t i = 0, end = result.size(); i < end; ++i) {
    Result value =
        function(read<Args>(operands[position], i, widths[position])...);
    if constexpr (std::is_same_v<Result, double>)
      result.floats[i] = value;
    else
      result.integers[i] = wrap(value, width);
  }
  return result;
}

namespace {
/// Applies `function` to each element.
template <typename Op, auto function>
struct ElementModel : Evaluable::ExternalModel<ElementModel<Op, function>, Op> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    return SmallVector<HostTensor>{call(op, +function, operands)};
  }

private:
  template <typename Result, typename... Args>
  static HostTensor call(Operation *op, Result (*pointer)(Args...),
                         ArrayRef<HostTensor> operands) {
    return apply(op, pointer, operands, std::index_sequence_for<Args...>());
  }
};

//===-- ops with a rule of their own --------------------------------------===//

struct ConstantModel
    : Evaluable::ExternalModel<ConstantModel, arith::ConstantOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor>) const {
    Attribute value = cast<arith::ConstantOp>(op).getValue();
    FailureOr<HostTensor> tensor = failure();
    if (auto elements = dyn_cast<ElementsAttr>(value))
      tensor = toHost(elements);
    else if (op->getResult(0).getType().isIntOrFloat())
      tensor = toHost(SplatElementsAttr::get(
          RankedTensorType::get({}, op->getResult(0).getType()), value));
    if (failed(tensor))
      return op->emitOpError("has a value that is not at hand");
    return SmallVector<HostTensor>{*tensor};
  }
};

/// The model of an op whose value in the table is `own`.
template <typename Op> struct OwnModel;

/// The condition may be one boolean for all elements.
template <>
struct OwnModel<arith::SelectOp>
    : Evaluable::ExternalModel<OwnModel<arith::SelectOp>, arith::SelectOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    const HostTensor &condition = operands[0];
    HostTensor result = operands[2];
    for (int64_t i = 0, end = result.size(); i < end; ++i) {
      if (!condition.integers[condition.shape.empty() ? 0 : i])
        continue;
      if (result.isFloat)
        result.floats[i] = operands[1].floats[i];
      else
        result.integers[i] = operands[1].integers[i];
    }
    return SmallVector<HostTensor>{std::move(result)};
  }
};

/// Reads the same bits as a number of the other type.
template <>
struct OwnModel<arith::BitcastOp>
    : Evaluable::ExternalModel<OwnModel<arith::BitcastOp>, arith::BitcastOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    Type from = getElementTypeOrSelf(op->getOperand(0)),
         to = getElementTypeOrSelf(op->getResult(0));
    HostTensor result = zeros(operands[0].shape, isa<FloatType>(to));
    for (int64_t i = 0, end = result.size(); i < end; ++i) {
      APInt bits = bitsOf(operands[0], i, from);
      if (!result.isFloat) {
        result.integers[i] = bits.getSExtValue();
        continue;
      }
      bool exact;
      APFloat number(cast<FloatType>(to).getFloatSemantics(), bits);
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &exact);
      result.floats[i] = number.convertToDouble();
    }
    return SmallVector<HostTensor>{std::move(result)};
  }

private:
  static APInt bitsOf(const HostTensor &tensor, int64_t i, Type type) {
    unsigned width = type.getIntOrFloatBitWidth();
    if (!tensor.isFloat)
      return APInt(width, read<uint64_t>(tensor, i, width));
    bool exact;
    APFloat number(tensor.floats[i]);
    number.convert(cast<FloatType>(type).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &exact);
    return number.bitcastToAPInt();
  }
};

/// Numbers are rounded only to 16-bit types, as mixed precision does; between
/// wider types they stay exact.
template <>
struct OwnModel<arith::TruncFOp>
    : Evaluable::ExternalModel<OwnModel<arith::TruncFOp>, arith::TruncFOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    auto type = cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
    HostTensor result = operands[0];
    if (type.getWidth() < 32)
      for (double &number : result.floats)
        number = rounded(number, type);
    return SmallVector<HostTensor>{std::move(result)};
  }
};

template <>
struct OwnModel<arith::CmpFOp>
    : Evaluable::ExternalModel<OwnModel<arith::CmpFOp>, arith::CmpFOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    auto holds = [predicate = cast<arith::CmpFOp>(op).getPredicate()](
                     double a, double b) {
      return arith::applyCmpPredicate(predicate, APFloat(a), APFloat(b));
    };
    bool ofLess = holds(0, 1), ofEqual = holds(0, 0), ofMore = holds(1, 0),
         ofNan = holds(0, NAN);
    HostTensor result = zeros(operands[0].shape, /*isFloat=*/false);
    for (int64_t i = 0, end = result.size(); i < end; ++i) {
      double a = operands[0].floats[i], b = operands[1].floats[i];
      result.integers[i] = a < b    ? ofLess
                           : a > b  ? ofMore
                           : a == b ? ofEqual
                                    : ofNan;
    }
    return SmallVector<HostTensor>{std::move(result)};
  }
};

template <>
struct OwnModel<arith::CmpIOp>
    : Evaluable::ExternalModel<OwnModel<arith::CmpIOp>, arith::CmpIOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    auto predicate = cast<arith::CmpIOp>(op).getPredicate();
    unsigned width = widthOf(op->getOperand(0));
    auto bits = [&](const HostTensor &tensor, int64_t i) {
      return APInt(width, read<uint64_t>(tensor, i, width));
    };
    HostTensor result = zeros(operands[0].shape, /*isFloat=*/false);
    for (int64_t i = 0, end = result.size(); i < end; ++i)
      result.integers[i] = arith::applyCmpPredicate(
          predicate, bits(operands[0], i), bits(operands[1], i));
    return SmallVector<HostTensor>{std::move(result)};
  }
};
} // namespace

//===-- the table ---------------------------------------------------------===//

using F = double;
using I = int64_t;
using U = uint64_t;

/// NaN if an operand is NaN, else `value`.
static F nanOr(F a, F b, F value) {
  return std::isnan(a) || std::isnan(b) ? NAN : value;
}

namespace {
struct Own {};
constexpr Own own;

template <typename Op, auto value> void attach(MLIRContext *context) {
  if constexpr (std::is_same_v<decltype(value), Own>)
    Op::template attachInterface<OwnModel<Op>>(*context);
  else
    Op::template attachInterface<ElementModel<Op, value>>(*context);
}
} // namespace

static void attachAll(MLIRContext *context, arith::ArithDialect *,
                      mlir::math::MathDialect *) {
  namespace math = mlir::math;
#define SCALAR_OP(op, types, cost, rounding, gradient, ...)                    \
  attach<op, __VA_ARGS__>(context);
#include "ir/scalar_ops.def"
  arith::ConstantOp::attachInterface<ConstantModel>(*context);
  // No target has code for these.
  attach<math::CbrtOp, [](F a) { return std::cbrt(a); }>(context);
  attach<math::ErfcOp, [](F a) { return std::erfc(a); }>(context);
  attach<math::Atan2Op, [](F a, F b) { return std::atan2(a, b); }>(context);
}

void gradus::registerEvaluationModels(DialectRegistry &registry) {
  registry.addExtension(attachAll);
}

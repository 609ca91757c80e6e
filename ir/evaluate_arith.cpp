// The reference evaluation of arith and math ops: a table of functions on
// single elements.
//
// A function's parameter types say how elements are read: double, int64_t
// (signed) or uint64_t (the bits, zero-extended). Integer results wrap around
// at the width of the op's type; booleans are 0 and 1.

#include "ir/evaluator.h"
#include "ir/external_models.h"
#include "ir/rounded.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

//===-- elements ----------------------------------------------------------===//

static unsigned widthOf(Value value) {
  return getElementTypeOrSelf(value).getIntOrFloatBitWidth();
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
  HostTensor result = zeros(operands[0].shape, std::is_same_v<Result, double>);
  for (int64_t i = 0, end = result.size(); i < end; ++i) {
    Result value = function(read<Args>(operands[position], i,
                                       widthOf(op->getOperand(position)))...);
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

template <typename Op, auto function> void attach(MLIRContext *context) {
  Op::template attachInterface<ElementModel<Op, function>>(*context);
}

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

/// The condition may be one boolean for all elements.
struct SelectModel : Evaluable::ExternalModel<SelectModel, arith::SelectOp> {
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
struct BitcastModel : Evaluable::ExternalModel<BitcastModel, arith::BitcastOp> {
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
struct TruncateFloatModel
    : Evaluable::ExternalModel<TruncateFloatModel, arith::TruncFOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    auto type = cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
    HostTensor result = operands[0];
    if (type.getWidth() < 32)
      for (double &number : result.floats)
        number = rounded(number, type);
    return SmallVector<HostTensor>{std::move(result)};
  }
};

struct CompareFloatsModel
    : Evaluable::ExternalModel<CompareFloatsModel, arith::CmpFOp> {
  Results evaluate(Operation *op, ArrayRef<HostTensor> operands) const {
    auto predicate = cast<arith::CmpFOp>(op).getPredicate();
    HostTensor result = zeros(operands[0].shape, /*isFloat=*/false);
    for (int64_t i = 0, end = result.size(); i < end; ++i)
      result.integers[i] =
          arith::applyCmpPredicate(predicate, APFloat(operands[0].floats[i]),
                                   APFloat(operands[1].floats[i]));
    return SmallVector<HostTensor>{std::move(result)};
  }
};

struct CompareIntegersModel
    : Evaluable::ExternalModel<CompareIntegersModel, arith::CmpIOp> {
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

//===-- tables ------------------------------------------------------------===//

using F = double;
using I = int64_t;
using U = uint64_t;

/// NaN if an operand is NaN, else `value`.
static F nanOr(F a, F b, F value) {
  return std::isnan(a) || std::isnan(b) ? NAN : value;
}

// Signed arithmetic that overflows wraps around, hence unsigned here.
static void attachIntegerOps(MLIRContext *context) {
  using namespace arith;
  attach<AddIOp, [](U a, U b) { return I(a + b); }>(context);
  attach<SubIOp, [](U a, U b) { return I(a - b); }>(context);
  attach<MulIOp, [](U a, U b) { return I(a * b); }>(context);
  attach<DivSIOp, [](I a, I b) {
    return b == 0 ? I(0) : b == -1 ? I(-U(a)) : a / b;
  }>(context);
  attach<DivUIOp, [](U a, U b) { return b == 0 ? I(0) : I(a / b); }>(context);
  attach<RemSIOp, [](I a, I b) { return b == 0 || b == -1 ? I(0) : a % b; }>(
      context);
  attach<RemUIOp, [](U a, U b) { return b == 0 ? I(0) : I(a % b); }>(context);
  attach<MaxSIOp, [](I a, I b) { return std::max(a, b); }>(context);
  attach<MaxUIOp, [](U a, U b) { return I(std::max(a, b)); }>(context);
  attach<MinSIOp, [](I a, I b) { return std::min(a, b); }>(context);
  attach<MinUIOp, [](U a, U b) { return I(std::min(a, b)); }>(context);
  attach<AndIOp, [](U a, U b) { return I(a & b); }>(context);
  attach<OrIOp, [](U a, U b) { return I(a | b); }>(context);
  attach<XOrIOp, [](U a, U b) { return I(a ^ b); }>(context);
  attach<ShLIOp, [](U a, U b) { return b > 63 ? I(0) : I(a << b); }>(context);
  attach<ShRSIOp, [](I a, U b) { return a >> std::min<U>(b, 63); }>(context);
  attach<ShRUIOp, [](U a, U b) { return b > 63 ? I(0) : I(a >> b); }>(context);
  CmpIOp::attachInterface<CompareIntegersModel>(*context);
}

static void attachFloatOps(MLIRContext *context) {
  using namespace arith;
  attach<AddFOp, [](F a, F b) { return a + b; }>(context);
  attach<SubFOp, [](F a, F b) { return a - b; }>(context);
  attach<MulFOp, [](F a, F b) { return a * b; }>(context);
  attach<DivFOp, [](F a, F b) { return a / b; }>(context);
  attach<RemFOp, [](F a, F b) { return std::fmod(a, b); }>(context);
  attach<NegFOp, [](F a) { return -a; }>(context);
  attach<MaximumFOp, [](F a, F b) { return nanOr(a, b, std::fmax(a, b)); }>(
      context);
  attach<MinimumFOp, [](F a, F b) { return nanOr(a, b, std::fmin(a, b)); }>(
      context);
  attach<MaxNumFOp, [](F a, F b) { return std::fmax(a, b); }>(context);
  attach<MinNumFOp, [](F a, F b) { return std::fmin(a, b); }>(context);
  CmpFOp::attachInterface<CompareFloatsModel>(*context);
}

static void attachCasts(MLIRContext *context) {
  using namespace arith;
  attach<ExtFOp, [](F a) { return a; }>(context);
  TruncFOp::attachInterface<TruncateFloatModel>(*context);
  attach<ExtSIOp, [](I a) { return a; }>(context);
  attach<ExtUIOp, [](U a) { return I(a); }>(context);
  attach<TruncIOp, [](U a) { return I(a); }>(context);
  attach<SIToFPOp, [](I a) { return F(a); }>(context);
  attach<UIToFPOp, [](U a) { return F(a); }>(context);
  attach<FPToSIOp, [](F a) { return I(a); }>(context);
  attach<FPToUIOp, [](F a) { return I(U(a)); }>(context);
}

static void attachArith(MLIRContext *context, arith::ArithDialect *) {
  attachIntegerOps(context);
  attachFloatOps(context);
  attachCasts(context);
  arith::ConstantOp::attachInterface<ConstantModel>(*context);
  arith::BitcastOp::attachInterface<BitcastModel>(*context);
  arith::SelectOp::attachInterface<SelectModel>(*context);
}

static void attachPowers(MLIRContext *context) {
  using namespace mlir::math;
  attach<CbrtOp, [](F a) { return std::cbrt(a); }>(context);
  attach<ErfOp, [](F a) { return std::erf(a); }>(context);
  attach<ErfcOp, [](F a) { return std::erfc(a); }>(context);
  attach<ExpOp, [](F a) { return std::exp(a); }>(context);
  attach<Exp2Op, [](F a) { return std::exp2(a); }>(context);
  attach<ExpM1Op, [](F a) { return std::expm1(a); }>(context);
  attach<LogOp, [](F a) { return std::log(a); }>(context);
  attach<Log10Op, [](F a) { return std::log10(a); }>(context);
  attach<Log1pOp, [](F a) { return std::log1p(a); }>(context);
  attach<Log2Op, [](F a) { return std::log2(a); }>(context);
  attach<PowFOp, [](F a, F b) { return std::pow(a, b); }>(context);
  attach<RsqrtOp, [](F a) { return 1 / std::sqrt(a); }>(context);
  attach<SqrtOp, [](F a) { return std::sqrt(a); }>(context);
  attach<FmaOp, [](F a, F b, F c) { return std::fma(a, b, c); }>(context);
}

static void attachAngles(MLIRContext *context) {
  using namespace mlir::math;
  attach<AcosOp, [](F a) { return std::acos(a); }>(context);
  attach<AcoshOp, [](F a) { return std::acosh(a); }>(context);
  attach<AsinOp, [](F a) { return std::asin(a); }>(context);
  attach<AsinhOp, [](F a) { return std::asinh(a); }>(context);
  attach<AtanOp, [](F a) { return std::atan(a); }>(context);
  attach<Atan2Op, [](F a, F b) { return std::atan2(a, b); }>(context);
  attach<AtanhOp, [](F a) { return std::atanh(a); }>(context);
  attach<CosOp, [](F a) { return std::cos(a); }>(context);
  attach<CoshOp, [](F a) { return std::cosh(a); }>(context);
  attach<SinOp, [](F a) { return std::sin(a); }>(context);
  attach<SinhOp, [](F a) { return std::sinh(a); }>(context);
  attach<TanOp, [](F a) { return std::tan(a); }>(context);
  attach<TanhOp, [](F a) { return std::tanh(a); }>(context);
}

static void attachMath(MLIRContext *context, mlir::math::MathDialect *) {
  using namespace mlir::math;
  attachPowers(context);
  attachAngles(context);
  attach<AbsFOp, [](F a) { return std::fabs(a); }>(context);
  attach<AbsIOp, [](I a) { return a < 0 ? I(-U(a)) : a; }>(context);
  attach<CeilOp, [](F a) { return std::ceil(a); }>(context);
  attach<CopySignOp, [](F a, F b) { return std::copysign(a, b); }>(context);
  attach<FloorOp, [](F a) { return std::floor(a); }>(context);
  attach<IsFiniteOp, [](F a) { return I(std::isfinite(a)); }>(context);
  attach<IsInfOp, [](F a) { return I(std::isinf(a)); }>(context);
  attach<IsNaNOp, [](F a) { return I(std::isnan(a)); }>(context);
  attach<RoundOp, [](F a) { return std::round(a); }>(context);
  attach<RoundEvenOp, [](F a) { return std::nearbyint(a); }>(context);
  attach<TruncOp, [](F a) { return std::trunc(a); }>(context);
}

void gradus::registerEvaluationModels(DialectRegistry &registry) {
  registry.addExtension(attachArith);
  registry.addExtension(attachMath);
}

// A CPU's instructions for the ops of ir/scalar_ops.def, and the fusing of
// products into sums.
//
// The region's code decides which multiplications and additions fuse, not LLVM:
// so every element gets the same bits whether it is computed alone, in a
// vector, or in the ragged end of a block.

#include "codegen/cpu/ops.h"

#include "codegen/cpu/math.h"
#include "codegen/cpu/pairs.h"
#include "codegen/cpu/remainder.h"
#include "codegen/plan/plan.h"
#include "ir/scalar_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace llvm;
using namespace gradus;
using mlir::Operation;

namespace arith = mlir::arith;
namespace math = mlir::math;

//===-- types -------------------------------------------------------------===//

bool gradus::isNarrowFloat(mlir::Type type) {
  return type.isBF16() || type.isF16();
}

Type *gradus::registerType(CpuBuilder &b, mlir::Type type) {
  if (type.isF32())
    return b.getFloatTy();
  if (type.isF64())
    return b.getDoubleTy();
  return b.getIntNTy(type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
}

Type *gradus::memoryType(CpuBuilder &b, mlir::Type type) {
  return type.isInteger(1) ? b.getInt8Ty() : registerType(b, type);
}

/// bf16 is the upper half of an f32.
Value *gradus::widen(CpuBuilder &b, Value *x, mlir::Type type) {
  Type *wide = b.likewise(x, b.getFloatTy());
  if (type.isF16())
    return b.CreateFPExt(b.CreateBitCast(x, b.likewise(x, b.getHalfTy())),
                         wide);
  Value *bits = b.CreateZExt(x, b.likewise(x, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(bits, 16), wide);
}

/// Rounds to the nearest, ties to even; a NaN remains a NaN.
static Value *roundToBf16(CpuBuilder &b, Value *x) {
  Type *bitsType = b.likewise(x, b.getInt32Ty());
  Value *bits = b.CreateBitCast(x, bitsType);
  Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), b.integer(bitsType, 1));
  Value *rounded =
      b.CreateAdd(bits, b.CreateAdd(odd, b.integer(bitsType, 0x7fff)));
  Value *quiet = b.CreateOr(bits, b.integer(bitsType, 0x400000));
  Value *chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  return b.CreateTrunc(b.CreateLShr(chosen, 16), b.likewise(x, b.getInt16Ty()));
}

Value *gradus::narrow(CpuBuilder &b, Value *x, mlir::Type type) {
  Type *bits = b.likewise(x, b.getInt16Ty());
  if (type.isF16())
    return b.CreateBitCast(b.CreateFPTrunc(x, b.likewise(x, b.getHalfTy())),
                           bits);
  if (!b.target.bf16)
    return roundToBf16(b, x);
  return b.CreateBitCast(b.CreateFPTrunc(x, b.likewise(x, b.getBFloatTy())),
                         bits);
}

Value *gradus::extremum(CpuBuilder &b, Intrinsic::ID id, Value *x, Value *y) {
  FastMathFlags flags;
  flags.setNoSignedZeros();
  IRBuilderBase::FastMathFlagGuard guard(b);
  b.setFastMathFlags(flags);
  return b.binary(id, x, y);
}

//===-- the ops -----------------------------------------------------------===//

namespace {

/// An op to emit: its operands have equal lanes, and are f32 for narrow floats.
struct Call {
  CpuBuilder &b;
  Operation &op;
  ArrayRef<Value *> x;

  /// The result's type with the operands' lanes; f32 for narrow floats.
  Type *type() const {
    mlir::Type result = op.getResult(0).getType();
    Type *scalar =
        isNarrowFloat(result) ? b.getFloatTy() : registerType(b, result);
    return b.likewise(x[0], scalar);
  }
};
using Emit = Value *(*)(const Call &);

template <Instruction::BinaryOps opcode> Value *binary(const Call &c) {
  return c.b.CreateBinOp(opcode, c.x[0], c.x[1]);
}
template <Instruction::CastOps opcode> Value *cast(const Call &c) {
  return c.b.CreateCast(opcode, c.x[0], c.type());
}
template <Intrinsic::ID id> Value *unaryIntrinsic(const Call &c) {
  return c.b.unary(id, c.x[0]);
}
template <Intrinsic::ID id> Value *binaryIntrinsic(const Call &c) {
  return c.b.binary(id, c.x[0], c.x[1]);
}
template <Value *(*function)(CpuBuilder &, Value *)>
Value *polynomial(const Call &c) {
  return function(c.b, c.x[0]);
}

/// Divides, replacing divisors that would trap by 1: zeros, which masked lanes
/// hold, and -1, by which the least number has no quotient.
template <Instruction::BinaryOps opcode> Value *division(const Call &c) {
  constexpr bool isSigned =
      opcode == Instruction::SDiv || opcode == Instruction::SRem;
  Type *type = c.x[1]->getType();
  Value *zero = Constant::getNullValue(type), *one = c.b.integer(type, 1);
  Value *replaced = c.b.CreateICmpEQ(c.x[1], zero), *negative = nullptr;
  if (isSigned) {
    negative = c.b.CreateICmpEQ(c.x[1], Constant::getAllOnesValue(type));
    replaced = c.b.CreateOr(replaced, negative);
  }
  Value *divisor = c.b.CreateSelect(replaced, one, c.x[1]);
  Value *result = c.b.CreateBinOp(opcode, c.x[0], divisor); // 0 for a remainder
  if (opcode != Instruction::SDiv)
    return result;
  return c.b.CreateSelect(negative, c.b.CreateNeg(c.x[0]), result);
}

template <Intrinsic::ID id> Value *extremum(const Call &c) {
  return gradus::extremum(c.b, id, c.x[0], c.x[1]);
}

Value *compareFloats(const Call &c) {
  // The order is that of arith's predicates, which differs from LLVM's.
  static constexpr CmpInst::Predicate predicates[] = {
      CmpInst::FCMP_FALSE, CmpInst::FCMP_OEQ, CmpInst::FCMP_OGT,
      CmpInst::FCMP_OGE,   CmpInst::FCMP_OLT, CmpInst::FCMP_OLE,
      CmpInst::FCMP_ONE,   CmpInst::FCMP_ORD, CmpInst::FCMP_UEQ,
      CmpInst::FCMP_UGT,   CmpInst::FCMP_UGE, CmpInst::FCMP_ULT,
      CmpInst::FCMP_ULE,   CmpInst::FCMP_UNE, CmpInst::FCMP_UNO,
      CmpInst::FCMP_TRUE};
  auto predicate = llvm::cast<mlir::arith::CmpFOp>(c.op).getPredicate();
  return c.b.CreateFCmp(predicates[unsigned(predicate)], c.x[0], c.x[1]);
}

Value *compareIntegers(const Call &c) {
  static constexpr CmpInst::Predicate predicates[] = {
      CmpInst::ICMP_EQ,  CmpInst::ICMP_NE,  CmpInst::ICMP_SLT,
      CmpInst::ICMP_SLE, CmpInst::ICMP_SGT, CmpInst::ICMP_SGE,
      CmpInst::ICMP_ULT, CmpInst::ICMP_ULE, CmpInst::ICMP_UGT,
      CmpInst::ICMP_UGE};
  auto predicate = llvm::cast<mlir::arith::CmpIOp>(c.op).getPredicate();
  return c.b.CreateICmp(predicates[unsigned(predicate)], c.x[0], c.x[1]);
}

Value *select(const Call &c) {
  return c.b.CreateSelect(c.x[0], c.x[1], c.x[2]);
}
Value *negate(const Call &c) { return c.b.CreateFNeg(c.x[0]); }
/// Reinterprets bits; narrow floats are held as their bits already.
Value *bitcast(const Call &c) {
  Type *scalar = registerType(c.b, c.op.getResult(0).getType());
  return c.b.CreateBitCast(c.x[0], c.b.likewise(c.x[0], scalar));
}
Value *fused(const Call &c) { return c.b.fma(c.x[0], c.x[1], c.x[2]); }
Value *power(const Call &c) { return cpu_math::pow(c.b, c.x[0], c.x[1]); }
Value *rest(const Call &c) { return remainder(c.b, c.x[0], c.x[1]); }

Value *extendFloat(const Call &c) {
  return c.x[0]->getType() == c.type() ? c.x[0]
                                       : c.b.CreateFPExt(c.x[0], c.type());
}
Value *truncateFloat(const Call &c) {
  return c.x[0]->getType() == c.type() ? c.x[0]
                                       : c.b.CreateFPTrunc(c.x[0], c.type());
}
Value *convertIndex(const Call &c) {
  return c.b.CreateSExtOrTrunc(c.x[0], c.type());
}
Value *convertIndexUnsigned(const Call &c) {
  return c.b.CreateZExtOrTrunc(c.x[0], c.type());
}

Value *reciprocalRoot(const Call &c) {
  return c.b.CreateFDiv(c.b.real(c.type(), 1),
                        c.b.unary(Intrinsic::sqrt, c.x[0]));
}
Value *exp2(const Call &c) {
  return cpu_math::exp(
      c.b, c.b.CreateFMul(c.x[0], c.b.real(c.type(), 0.693147180559945309417)));
}
template <int base> Value *logarithm(const Call &c) {
  double factor = base == 2 ? 1.442695040888963407 : 0.434294481903251828;
  return c.b.CreateFMul(cpu_math::log(c.b, c.x[0]), c.b.real(c.type(), factor));
}
Value *absoluteInteger(const Call &c) {
  return c.b.CreateIntrinsic(Intrinsic::abs, {c.type()},
                             {c.x[0], c.b.getFalse()});
}

/// sinh and cosh as (e -+ 1/e) / 2 with e = exp(x); sinh near 0 by expm1.
Value *hyperbolicCosine(const Call &c) {
  Value *e = cpu_math::exp(c.b, c.x[0]), *half = c.b.real(c.type(), 0.5);
  return c.b.CreateFAdd(c.b.CreateFMul(half, e), c.b.CreateFDiv(half, e));
}
Value *hyperbolicSine(const Call &c) {
  Value *t = cpu_math::expm1(c.b, c.x[0]), *one = c.b.real(c.type(), 1);
  Value *part = c.b.CreateFDiv(t, c.b.CreateFAdd(t, one));
  // The quotient of infinities would be NaN.
  part = c.b.CreateSelect(
      c.b.CreateFCmpOEQ(t, ConstantFP::getInfinity(t->getType())), one, part);
  return c.b.CreateFMul(c.b.real(c.type(), 0.5), c.b.CreateFAdd(t, part));
}
Value *tangent(const Call &c) {
  return c.b.CreateFDiv(cpu_math::sin(c.b, c.x[0]), cpu_math::cos(c.b, c.x[0]));
}
Value *isNan(const Call &c) { return c.b.CreateFCmpUNO(c.x[0], c.x[0]); }
Value *isInfinite(const Call &c) {
  Value *size = c.b.unary(Intrinsic::fabs, c.x[0]);
  return c.b.CreateFCmpOEQ(size, ConstantFP::getInfinity(c.x[0]->getType()));
}
Value *isFinite(const Call &c) {
  Value *size = c.b.unary(Intrinsic::fabs, c.x[0]);
  return c.b.CreateFCmpONE(size, ConstantFP::getInfinity(c.x[0]->getType()));
}

using I = Instruction;

/// The function that emits each op of ir/scalar_ops.def.
template <typename Op> constexpr Emit emits = nullptr;
template <> constexpr Emit emits<arith::AddFOp> = binary<I::FAdd>;
template <> constexpr Emit emits<arith::SubFOp> = binary<I::FSub>;
template <> constexpr Emit emits<arith::MulFOp> = binary<I::FMul>;
template <> constexpr Emit emits<arith::DivFOp> = binary<I::FDiv>;
template <> constexpr Emit emits<arith::RemFOp> = rest;
template <> constexpr Emit emits<arith::NegFOp> = negate;
template <>
constexpr Emit emits<arith::MaximumFOp> = extremum<Intrinsic::maximum>;
template <>
constexpr Emit emits<arith::MinimumFOp> = extremum<Intrinsic::minimum>;
template <>
constexpr Emit emits<arith::MaxNumFOp> = extremum<Intrinsic::maxnum>;
template <>
constexpr Emit emits<arith::MinNumFOp> = extremum<Intrinsic::minnum>;
template <> constexpr Emit emits<arith::CmpFOp> = compareFloats;
template <> constexpr Emit emits<arith::SelectOp> = select;
template <> constexpr Emit emits<arith::AddIOp> = binary<I::Add>;
template <> constexpr Emit emits<arith::SubIOp> = binary<I::Sub>;
template <> constexpr Emit emits<arith::MulIOp> = binary<I::Mul>;
template <> constexpr Emit emits<arith::DivSIOp> = division<I::SDiv>;
template <> constexpr Emit emits<arith::DivUIOp> = division<I::UDiv>;
template <> constexpr Emit emits<arith::RemSIOp> = division<I::SRem>;
template <> constexpr Emit emits<arith::RemUIOp> = division<I::URem>;
template <> constexpr Emit emits<arith::AndIOp> = binary<I::And>;
template <> constexpr Emit emits<arith::OrIOp> = binary<I::Or>;
template <> constexpr Emit emits<arith::XOrIOp> = binary<I::Xor>;
template <> constexpr Emit emits<arith::ShLIOp> = binary<I::Shl>;
template <> constexpr Emit emits<arith::ShRSIOp> = binary<I::AShr>;
template <> constexpr Emit emits<arith::ShRUIOp> = binary<I::LShr>;
template <>
constexpr Emit emits<arith::MaxSIOp> = binaryIntrinsic<Intrinsic::smax>;
template <>
constexpr Emit emits<arith::MinSIOp> = binaryIntrinsic<Intrinsic::smin>;
template <>
constexpr Emit emits<arith::MaxUIOp> = binaryIntrinsic<Intrinsic::umax>;
template <>
constexpr Emit emits<arith::MinUIOp> = binaryIntrinsic<Intrinsic::umin>;
template <> constexpr Emit emits<arith::CmpIOp> = compareIntegers;
template <> constexpr Emit emits<arith::ExtFOp> = extendFloat;
template <> constexpr Emit emits<arith::TruncFOp> = truncateFloat;
template <> constexpr Emit emits<arith::ExtSIOp> = cast<I::SExt>;
template <> constexpr Emit emits<arith::ExtUIOp> = cast<I::ZExt>;
template <> constexpr Emit emits<arith::TruncIOp> = cast<I::Trunc>;
template <> constexpr Emit emits<arith::SIToFPOp> = cast<I::SIToFP>;
template <> constexpr Emit emits<arith::UIToFPOp> = cast<I::UIToFP>;
template <> constexpr Emit emits<arith::FPToSIOp> = cast<I::FPToSI>;
template <> constexpr Emit emits<arith::FPToUIOp> = cast<I::FPToUI>;
template <> constexpr Emit emits<arith::BitcastOp> = bitcast;
template <> constexpr Emit emits<arith::IndexCastOp> = convertIndex;
template <> constexpr Emit emits<arith::IndexCastUIOp> = convertIndexUnsigned;
template <> constexpr Emit emits<math::ExpOp> = polynomial<cpu_math::exp>;
template <> constexpr Emit emits<math::Exp2Op> = exp2;
template <> constexpr Emit emits<math::ExpM1Op> = polynomial<cpu_math::expm1>;
template <> constexpr Emit emits<math::LogOp> = polynomial<cpu_math::log>;
template <> constexpr Emit emits<math::Log2Op> = logarithm<2>;
template <> constexpr Emit emits<math::Log10Op> = logarithm<10>;
template <> constexpr Emit emits<math::Log1pOp> = polynomial<cpu_math::log1p>;
template <> constexpr Emit emits<math::ErfOp> = polynomial<cpu_math::erf>;
template <> constexpr Emit emits<math::PowFOp> = power;
template <> constexpr Emit emits<math::FmaOp> = fused;
template <>
constexpr Emit emits<math::SqrtOp> = unaryIntrinsic<Intrinsic::sqrt>;
template <> constexpr Emit emits<math::RsqrtOp> = reciprocalRoot;
template <>
constexpr Emit emits<math::AbsFOp> = unaryIntrinsic<Intrinsic::fabs>;
template <> constexpr Emit emits<math::AbsIOp> = absoluteInteger;
template <>
constexpr Emit emits<math::CeilOp> = unaryIntrinsic<Intrinsic::ceil>;
template <>
constexpr Emit emits<math::FloorOp> = unaryIntrinsic<Intrinsic::floor>;
template <>
constexpr Emit emits<math::TruncOp> = unaryIntrinsic<Intrinsic::trunc>;
template <>
constexpr Emit emits<math::RoundOp> = unaryIntrinsic<Intrinsic::round>;
template <>
constexpr Emit emits<math::RoundEvenOp> = unaryIntrinsic<Intrinsic::roundeven>;
template <>
constexpr Emit emits<math::CopySignOp> = binaryIntrinsic<Intrinsic::copysign>;
template <> constexpr Emit emits<math::IsNaNOp> = isNan;
template <> constexpr Emit emits<math::IsInfOp> = isInfinite;
template <> constexpr Emit emits<math::IsFiniteOp> = isFinite;
template <> constexpr Emit emits<math::TanhOp> = polynomial<cpu_math::tanh>;
template <> constexpr Emit emits<math::SinhOp> = hyperbolicSine;
template <> constexpr Emit emits<math::CoshOp> = hyperbolicCosine;
template <> constexpr Emit emits<math::SinOp> = polynomial<cpu_math::sin>;
template <> constexpr Emit emits<math::CosOp> = polynomial<cpu_math::cos>;
template <> constexpr Emit emits<math::TanOp> = tangent;
template <> constexpr Emit emits<math::AsinOp> = polynomial<cpu_math::asin>;
template <> constexpr Emit emits<math::AcosOp> = polynomial<cpu_math::acos>;
template <> constexpr Emit emits<math::AtanOp> = polynomial<cpu_math::atan>;
template <> constexpr Emit emits<math::AsinhOp> = polynomial<cpu_math::asinh>;
template <> constexpr Emit emits<math::AcoshOp> = polynomial<cpu_math::acosh>;
template <> constexpr Emit emits<math::AtanhOp> = polynomial<cpu_math::atanh>;

} // namespace

static Emit lookup(Operation &op) {
  static const DenseMap<mlir::TypeID, Emit> table = {
#define SCALAR_OP(op, ...) {mlir::TypeID::get<op>(), emits<op>},
#include "ir/scalar_ops.def"
  };
  return table.lookup(op.getName().getTypeID());
}

#define SCALAR_OP(op, ...)                                                     \
  static_assert(emits<op>, "CPUs have no code for " #op);
#include "ir/scalar_ops.def"

//===-- regions -----------------------------------------------------------===//

/// The f32 or f64 multiplication that defines `value`, if that has one use.
static mlir::arith::MulFOp productOf(mlir::Value value) {
  auto product = value.getDefiningOp<mlir::arith::MulFOp>();
  bool fusible =
      product && value.hasOneUse() && !isNarrowFloat(value.getType());
  return fusible ? product : mlir::arith::MulFOp();
}

/// The operand of a sum or difference that fuses with it: the first that is a
/// product; -1: none.
static int fusedOperand(Operation &op) {
  if (isa<mlir::arith::AddFOp, mlir::arith::SubFOp>(op))
    for (int i : {0, 1})
      if (productOf(op.getOperand(i)))
        return i;
  return -1;
}

static bool isFused(Operation &op) {
  if (op.getNumResults() != 1 || !productOf(op.getResult(0)))
    return false;
  mlir::OpOperand &use = *op.getResult(0).use_begin();
  return fusedOperand(*use.getOwner()) == int(use.getOperandNumber());
}

RegionEmitter::RegionEmitter(CpuBuilder &builder, mlir::Region &region,
                             function_ref<Value *(int64_t)> indexOf)
    : builder_(builder), block_(region.front()), indexOf_(indexOf) {}

static Value *constant(CpuBuilder &b, mlir::arith::ConstantOp op) {
  Type *type = registerType(b, op.getType());
  if (auto number = dyn_cast<mlir::IntegerAttr>(op.getValue()))
    return ConstantInt::get(
        type, number.getValue().sextOrTrunc(type->getIntegerBitWidth()));
  APFloat number = llvm::cast<mlir::FloatAttr>(op.getValue()).getValue();
  if (isNarrowFloat(op.getType()))
    return ConstantInt::get(type, number.bitcastToAPInt());
  return ConstantFP::get(type, number);
}

void RegionEmitter::bind(ArrayRef<Value *> arguments) {
  values_.clear();
  for (auto [argument, given] : zip(block_.getArguments(), arguments))
    values_[argument] = given;
}

/// product + addend, or addend - product.
Value *RegionEmitter::product(mlir::Value value, Value *addend, bool negate) {
  auto mul = value.getDefiningOp<mlir::arith::MulFOp>();
  Value *x = this->value(mul.getLhs());
  return builder_.fma(negate ? builder_.CreateFNeg(x) : x,
                      this->value(mul.getRhs()), addend);
}

/// Emits a sum or difference of which one operand is a product.
Value *RegionEmitter::fusedSum(Operation &op) {
  int fused = fusedOperand(op);
  Value *addend = value(op.getOperand(1 - fused));
  bool difference = isa<mlir::arith::SubFOp>(op);
  if (difference && fused == 0)
    addend = builder_.CreateFNeg(addend);
  return product(op.getOperand(fused), addend, difference && fused == 1);
}

/// Adds the products of two pairs to a sum.
Value *RegionEmitter::pairs(plan::DotPairsOp op, Value *sum) {
  return addPairs(builder_, sum, value(op.getA()), value(op.getB()));
}

/// Whether an op reads narrow floats as the bits they are.
static bool takesBits(Operation &op) {
  const ScalarOp *known = scalarOp(&op);
  return known && known->cost == ScalarCost::move;
}

void RegionEmitter::emit(Operation &op) {
  if (auto index = dyn_cast<plan::IndexOp>(op)) {
    values_[index.getResult()] = indexOf_(index.getDim());
    return;
  }
  if (auto literal = dyn_cast<mlir::arith::ConstantOp>(op)) {
    values_[literal.getResult()] = constant(builder_, literal);
    return;
  }
  if (auto dot = dyn_cast<plan::DotPairsOp>(op)) {
    values_[dot.getResult()] =
        pairs(dot, ConstantFP::get(builder_.getFloatTy(), 0));
    return;
  }
  if (fusedOperand(op) >= 0) {
    values_[op.getResult(0)] = fusedSum(op);
    return;
  }
  Values operands;
  for (mlir::Value operand : op.getOperands()) {
    bool wide = isNarrowFloat(operand.getType()) && !takesBits(op);
    operands.push_back(wide ? widen(builder_, value(operand), operand.getType())
                            : value(operand));
  }
  builder_.matchLanes(operands);
  Value *result = lookup(op)(Call{builder_, op, operands});
  mlir::Type type = op.getResult(0).getType();
  values_[op.getResult(0)] = isNarrowFloat(type) && !takesBits(op)
                                 ? narrow(builder_, result, type)
                                 : result;
}

Values RegionEmitter::run(ArrayRef<Value *> arguments) {
  return runInto(arguments, {});
}

Values RegionEmitter::runInto(ArrayRef<Value *> arguments,
                              ArrayRef<Value *> sums) {
  bind(arguments);
  Operation *yield = block_.getTerminator();
  auto fusesIntoSum = [&](Operation &op) {
    bool isTerm = op.getNumResults() == 1 &&
                  (productOf(op.getResult(0)) ||
                   (isa<plan::DotPairsOp>(op) && op.hasOneUse()));
    if (!isTerm)
      return false;
    mlir::OpOperand &use = *op.getResult(0).use_begin();
    return use.getOwner() == yield && use.getOperandNumber() < sums.size() &&
           sums[use.getOperandNumber()];
  };
  for (Operation &op : block_.without_terminator())
    if (!isFused(op) && !fusesIntoSum(op))
      emit(op);
  Values results;
  for (mlir::OpOperand &operand : yield->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    Operation *source = operand.get().getDefiningOp();
    bool fuses = source && fusesIntoSum(*source);
    Value *sum = i < sums.size() ? sums[i] : nullptr;
    if (auto dot = dyn_cast_or_null<plan::DotPairsOp>(source); dot && fuses)
      results.push_back(pairs(dot, sum));
    else if (fuses)
      results.push_back(product(operand.get(), sum, false));
    else
      results.push_back(value(operand.get()));
    if (sum && !fuses) {
      Value *terms[] = {results.back(), sum};
      builder_.matchLanes(terms);
      results.back() = sum->getType()->isFPOrFPVectorTy()
                           ? builder_.CreateFAdd(terms[1], terms[0])
                           : builder_.CreateAdd(terms[1], terms[0]);
    }
  }
  return results;
}

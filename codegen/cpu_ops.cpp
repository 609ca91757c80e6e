// One table of arith and math ops, and the fusing of products into sums.
//
// Which multiplications and additions fuse is decided here, on the region's
// text, and not by LLVM: so every element gets the same bits whether it is
// computed alone, in a vector, or at the ragged end of a block.

#include "codegen/cpu_ops.h"

#include "codegen/cpu_math.h"
#include "codegen/cpu_remainder.h"
#include "codegen/plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace gradus;
using mlir::Operation;

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

/// Rounds to the nearest, ties to even; a NaN stays one.
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

//===-- the table ---------------------------------------------------------===//

namespace {

/// What an op becomes: its operands have equal lanes, and f32 for narrow
/// floats.
struct Call {
  CpuBuilder &b;
  Operation &op;
  ArrayRef<Value *> x;

  /// The result's type with the operands' lanes; narrow floats as f32.
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

/// Masked lanes hold zeros; dividing by one there avoids a trap. So would the
/// least number by -1, whose quotient does not fit.
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
  Value *result = c.b.CreateBinOp(opcode, c.x[0], divisor); // 0 if a remainder
  if (opcode != Instruction::SDiv)
    return result;
  return c.b.CreateSelect(negative, c.b.CreateNeg(c.x[0]), result);
}

template <Intrinsic::ID id> Value *extremum(const Call &c) {
  return gradus::extremum(c.b, id, c.x[0], c.x[1]);
}

Value *compareFloats(const Call &c) {
  // In the order of arith's predicates, which is not LLVM's.
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
/// Narrow floats are the bits that they are.
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

/// sinh and cosh by e = exp(x): (e -+ 1/e) / 2; sinh near 0 by expm1.
Value *hyperbolicCosine(const Call &c) {
  Value *e = cpu_math::exp(c.b, c.x[0]), *half = c.b.real(c.type(), 0.5);
  return c.b.CreateFAdd(c.b.CreateFMul(half, e), c.b.CreateFDiv(half, e));
}
Value *hyperbolicSine(const Call &c) {
  Value *t = cpu_math::expm1(c.b, c.x[0]), *one = c.b.real(c.type(), 1);
  Value *sum = c.b.CreateFAdd(t, c.b.CreateFDiv(t, c.b.CreateFAdd(t, one)));
  return c.b.CreateFMul(c.b.real(c.type(), 0.5), sum);
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

} // namespace

static const StringMap<Emit> &table() {
  using I = Instruction;
  static const StringMap<Emit> emits = {
      {"arith.addf", binary<I::FAdd>},
      {"arith.subf", binary<I::FSub>},
      {"arith.mulf", binary<I::FMul>},
      {"arith.divf", binary<I::FDiv>},
      {"arith.remf", rest},
      {"arith.negf", negate},
      {"arith.maximumf", extremum<Intrinsic::maximum>},
      {"arith.minimumf", extremum<Intrinsic::minimum>},
      {"arith.maxnumf", extremum<Intrinsic::maxnum>},
      {"arith.minnumf", extremum<Intrinsic::minnum>},
      {"arith.cmpf", compareFloats},
      {"arith.select", select},
      {"arith.addi", binary<I::Add>},
      {"arith.subi", binary<I::Sub>},
      {"arith.muli", binary<I::Mul>},
      {"arith.divsi", division<I::SDiv>},
      {"arith.divui", division<I::UDiv>},
      {"arith.remsi", division<I::SRem>},
      {"arith.remui", division<I::URem>},
      {"arith.andi", binary<I::And>},
      {"arith.ori", binary<I::Or>},
      {"arith.xori", binary<I::Xor>},
      {"arith.shli", binary<I::Shl>},
      {"arith.shrsi", binary<I::AShr>},
      {"arith.shrui", binary<I::LShr>},
      {"arith.maxsi", binaryIntrinsic<Intrinsic::smax>},
      {"arith.minsi", binaryIntrinsic<Intrinsic::smin>},
      {"arith.maxui", binaryIntrinsic<Intrinsic::umax>},
      {"arith.minui", binaryIntrinsic<Intrinsic::umin>},
      {"arith.cmpi", compareIntegers},
      {"arith.extf", extendFloat},
      {"arith.truncf", truncateFloat},
      {"arith.extsi", cast<I::SExt>},
      {"arith.extui", cast<I::ZExt>},
      {"arith.trunci", cast<I::Trunc>},
      {"arith.sitofp", cast<I::SIToFP>},
      {"arith.uitofp", cast<I::UIToFP>},
      {"arith.fptosi", cast<I::FPToSI>},
      {"arith.fptoui", cast<I::FPToUI>},
      {"arith.bitcast", bitcast},
      {"arith.index_cast", convertIndex},
      {"arith.index_castui", convertIndexUnsigned},
      {"math.exp", polynomial<cpu_math::exp>},
      {"math.exp2", exp2},
      {"math.expm1", polynomial<cpu_math::expm1>},
      {"math.log", polynomial<cpu_math::log>},
      {"math.log2", logarithm<2>},
      {"math.log10", logarithm<10>},
      {"math.log1p", polynomial<cpu_math::log1p>},
      {"math.erf", polynomial<cpu_math::erf>},
      {"math.powf", power},
      {"math.fma", fused},
      {"math.sqrt", unaryIntrinsic<Intrinsic::sqrt>},
      {"math.rsqrt", reciprocalRoot},
      {"math.absf", unaryIntrinsic<Intrinsic::fabs>},
      {"math.absi", absoluteInteger},
      {"math.ceil", unaryIntrinsic<Intrinsic::ceil>},
      {"math.floor", unaryIntrinsic<Intrinsic::floor>},
      {"math.trunc", unaryIntrinsic<Intrinsic::trunc>},
      {"math.round", unaryIntrinsic<Intrinsic::round>},
      {"math.roundeven", unaryIntrinsic<Intrinsic::roundeven>},
      {"math.copysign", binaryIntrinsic<Intrinsic::copysign>},
      {"math.isnan", isNan},
      {"math.isinf", isInfinite},
      {"math.isfinite", isFinite},
  };
  return emits;
}

/// Angles and their hyperbolic kind.
static const StringMap<Emit> &angleTable() {
  static const StringMap<Emit> emits = {
      {"math.tanh", polynomial<cpu_math::tanh>},
      {"math.sinh", hyperbolicSine},
      {"math.cosh", hyperbolicCosine},
      {"math.sin", polynomial<cpu_math::sin>},
      {"math.cos", polynomial<cpu_math::cos>},
      {"math.tan", tangent},
      {"math.asin", polynomial<cpu_math::asin>},
      {"math.acos", polynomial<cpu_math::acos>},
      {"math.atan", polynomial<cpu_math::atan>},
      {"math.asinh", polynomial<cpu_math::asinh>},
      {"math.acosh", polynomial<cpu_math::acosh>},
      {"math.atanh", polynomial<cpu_math::atanh>},
  };
  return emits;
}

static Emit lookup(Operation &op) {
  StringRef name = op.getName().getStringRef();
  Emit angle = angleTable().lookup(name);
  return angle ? angle : table().lookup(name);
}

//===-- regions -----------------------------------------------------------===//

/// A product of f32 or f64 that only `value`'s one use takes.
static mlir::arith::MulFOp productOf(mlir::Value value) {
  auto product = value.getDefiningOp<mlir::arith::MulFOp>();
  bool fusible =
      product && value.hasOneUse() && !isNarrowFloat(value.getType());
  return fusible ? product : mlir::arith::MulFOp();
}

/// The operand of a sum or difference that fuses with it: at most one, the
/// first.
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
    : builder(builder), block(region.front()), indexOf(indexOf) {}

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
  values.clear();
  for (auto [argument, given] : zip(block.getArguments(), arguments))
    values[argument] = given;
}

/// product + addend, or addend - product.
Value *RegionEmitter::product(mlir::Value value, Value *addend, bool negate) {
  auto mul = value.getDefiningOp<mlir::arith::MulFOp>();
  Value *x = this->value(mul.getLhs());
  return builder.fma(negate ? builder.CreateFNeg(x) : x,
                     this->value(mul.getRhs()), addend);
}

/// A sum or difference one of whose operands is a product.
Value *RegionEmitter::fusedSum(Operation &op) {
  int fused = fusedOperand(op);
  Value *addend = value(op.getOperand(1 - fused));
  bool difference = isa<mlir::arith::SubFOp>(op);
  if (difference && fused == 0)
    addend = builder.CreateFNeg(addend);
  return product(op.getOperand(fused), addend, difference && fused == 1);
}

/// Moves, which take narrow floats as the bits they are.
static bool takesBits(Operation &op) {
  return isa<mlir::arith::SelectOp, mlir::arith::BitcastOp>(op);
}

void RegionEmitter::emit(Operation &op) {
  if (auto index = dyn_cast<plan::IndexOp>(op)) {
    values[index.getResult()] = indexOf(index.getDim());
    return;
  }
  if (auto literal = dyn_cast<mlir::arith::ConstantOp>(op)) {
    values[literal.getResult()] = constant(builder, literal);
    return;
  }
  if (fusedOperand(op) >= 0) {
    values[op.getResult(0)] = fusedSum(op);
    return;
  }
  Values operands;
  for (mlir::Value operand : op.getOperands()) {
    bool wide = isNarrowFloat(operand.getType()) && !takesBits(op);
    operands.push_back(wide ? widen(builder, value(operand), operand.getType())
                            : value(operand));
  }
  builder.matchLanes(operands);
  Value *result = lookup(op)(Call{builder, op, operands});
  mlir::Type type = op.getResult(0).getType();
  values[op.getResult(0)] = isNarrowFloat(type) && !takesBits(op)
                                ? narrow(builder, result, type)
                                : result;
}

Values RegionEmitter::run(ArrayRef<Value *> arguments) {
  return runInto(arguments, {});
}

Values RegionEmitter::runInto(ArrayRef<Value *> arguments,
                              ArrayRef<Value *> sums) {
  bind(arguments);
  Operation *yield = block.getTerminator();
  auto fusesIntoSum = [&](Operation &op) {
    if (op.getNumResults() != 1 || !productOf(op.getResult(0)))
      return false;
    mlir::OpOperand &use = *op.getResult(0).use_begin();
    return use.getOwner() == yield && use.getOperandNumber() < sums.size() &&
           sums[use.getOperandNumber()];
  };
  for (Operation &op : block.without_terminator())
    if (!isFused(op) && !fusesIntoSum(op))
      emit(op);
  Values results;
  for (mlir::OpOperand &operand : yield->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    Operation *source = operand.get().getDefiningOp();
    bool fuses = source && fusesIntoSum(*source);
    Value *sum = i < sums.size() ? sums[i] : nullptr;
    if (fuses)
      results.push_back(product(operand.get(), sum, false));
    else
      results.push_back(value(operand.get()));
    if (sum && !fuses) {
      Value *terms[] = {results.back(), sum};
      builder.matchLanes(terms);
      results.back() = sum->getType()->isFPOrFPVectorTy()
                           ? builder.CreateFAdd(terms[1], terms[0])
                           : builder.CreateAdd(terms[1], terms[0]);
    }
  }
  return results;
}

// Recognizes gelu in the products that exporters write.
//
// Runs on the model, before mixed precision and autodiff: the single op stores
// only its input, in 16 bits if that is narrow, and can be fused into a
// library's matmul.

#include "passes/passes.h"
#include "passes/recognition/factors.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_RECOGNIZEGELU
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Whether two numbers are equal up to the precision of a file.
bool isNear(double found, double expected) {
  return std::abs(found - expected) <= 1e-4 * std::abs(expected);
}

/// The power of `x` in a value, whose other factors are constants, collected in
/// `scale`; -1 for other values.
int64_t powerOf(Value value, Value x, double &scale) {
  if (value == x)
    return 1;
  value = withoutFactors(value, scale);
  if (value == x)
    return 1;
  if (auto number = numberOf(value)) {
    scale *= *number;
    return 0;
  }
  if (auto power = value.getDefiningOp<math::PowFOp>())
    return power.getLhs() == x && numberOf(power.getRhs()) == 3 ? 3 : -1;
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return -1;
  int64_t left = powerOf(product.getLhs(), x, scale),
          right = powerOf(product.getRhs(), x, scale);
  return left < 0 || right < 0 ? -1 : left + right;
}

/// The value x in `sqrt(2 / pi) (x + 0.044715 x^3)`.
Value inputOfTanh(Value argument) {
  double outer = 1;
  auto sum = withoutFactors(argument, outer).getDefiningOp<arith::AddFOp>();
  if (!sum || !isNear(outer, 0.7978845608028654))
    return {};
  for (auto [x, cube] : {std::pair(sum.getLhs(), sum.getRhs()),
                         std::pair(sum.getRhs(), sum.getLhs())}) {
    double scale = 1;
    if (powerOf(cube, x, scale) == 3 && isNear(scale, 0.044715))
      return x;
  }
  return {};
}

/// The value x in `x / sqrt(2)`.
Value inputOfErf(Value argument) {
  double scale = 1;
  Value x = withoutFactors(argument, scale);
  return isNear(scale, 0.7071067811865476) ? x : Value();
}

/// The only user of a value, if it is an op of this type.
template <typename Op> Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

/// The other operand of a binary op.
Value other(Operation *op, Value one) {
  return op->getOperand(op->getOperand(0) == one ? 1 : 0);
}

/// The product `0.5 x (1 + spread)`, in any order of factors.
arith::MulFOp productOf(Value spread, Value x) {
  auto sum = onlyUser<arith::AddFOp>(spread);
  if (!sum || numberOf(other(sum, spread)) != 1)
    return {};
  double scale = 1;
  int64_t power = 0;
  for (Value value = sum; power < 1 || !isNear(scale, 0.5);) {
    auto product = onlyUser<arith::MulFOp>(value);
    int64_t more = product ? powerOf(other(product, value), x, scale) : -1;
    if (more < 0 || power + more > 1)
      return {};
    power += more;
    value = product;
    if (power == 1 && isNear(scale, 0.5))
      return product;
  }
  return {};
}

struct RecognizeGelu : impl::RecognizeGeluBase<RecognizeGelu> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> spreads;
    getOperation().walk([&](Operation *op) {
      if (isa<math::TanhOp, math::ErfOp>(op))
        spreads.push_back(op);
    });
    for (Operation *spread : spreads)
      recognize(spread);
  }

  void recognize(Operation *spread) {
    bool tanh = isa<math::TanhOp>(spread);
    Value argument = spread->getOperand(0);
    Value x = tanh ? inputOfTanh(argument) : inputOfErf(argument);
    arith::MulFOp product =
        x ? productOf(spread->getResult(0), x) : arith::MulFOp();
    if (!product)
      return;
    OpBuilder builder(product);
    Value gelu = GeluOp::create(builder, product.getLoc(), x, tanh);
    product.getResult().replaceAllUsesWith(gelu);
    remark::passed(
        product.getLoc(),
        remark::RemarkOpts::name("Recognized").category(getArgument()))
        << "gelu computed as one op";
  }
};

} // namespace
} // namespace gradus

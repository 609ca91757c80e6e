// Factors that wait are known by an attribute of their product.

#include "passes/deferred_factor.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gradus;

/// Marks the product of a loss with a factor that has to wait for other ranks.
constexpr StringLiteral kDeferred = "gradus.deferred";

Value gradus::deferFactor(const Arithmetic &math, Value value, Value factor) {
  auto product = arith::MulFOp::create(math.builder, math.loc, value, factor);
  product->setAttr(kDeferred, math.builder.getUnitAttr());
  return product;
}

Value DeferredLoss::factor(const Arithmetic &math) const {
  Value product;
  for (Value each : factors) {
    Value wide =
        convert(math.builder, math.loc, each, math.builder.getF32Type());
    product = product ? math.multiply(wide, product) : wide;
  }
  return product;
}

DeferredLoss gradus::deferredParts(Value loss) {
  DeferredLoss parts{loss, {}};
  bool waits = false;
  while (auto product = parts.value.getDefiningOp<arith::MulFOp>()) {
    bool isMarked = product->hasAttr(kDeferred);
    if (!isMarked && !matchPattern(product.getRhs(), m_Constant()))
      break;
    waits |= isMarked;
    parts.factors.push_back(product.getRhs());
    parts.value = product.getLhs();
  }
  return waits ? parts : DeferredLoss{loss, {}};
}

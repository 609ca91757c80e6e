// Follows gradients back over the borders of groups; see overflow_origin.h.
//
// Only borders behind updates are looked at: where freezing has removed the
// updates of lower groups, nothing else computes what would pass a border.

#include "passes/overflow_origin.h"

#include "ir/gradient_ops.h"

using namespace mlir;
using namespace gradus;

namespace {

/// A gradient that passes a border, in the scale of the higher group.
struct Crossing {
  size_t lower, higher;
  Value gradient;
};

/// The ratio of scales that is spread over a tensor; null for other values.
Operation *ratioOf(Value factor) {
  if (auto spread = factor.getDefiningOp<BroadcastOp>())
    factor = spread.getInput();
  Operation *op = factor.getDefiningOp();
  while (op && isa<arith::TruncFOp, arith::ExtFOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op && op->hasAttr(kBorder) ? op : nullptr;
}

/// Returns the gradient that passes a border in an op, if that is what the op
/// multiplies.
std::optional<Crossing> crossingOf(Operation *op) {
  auto product = dyn_cast<arith::MulFOp>(op);
  if (!product)
    return std::nullopt;
  for (auto [factor, other] : {std::pair(product.getRhs(), product.getLhs()),
                               std::pair(product.getLhs(), product.getRhs())})
    if (Operation *ratio = ratioOf(factor)) {
      auto border = ratio->getAttrOfType<DenseI64ArrayAttr>(kBorder);
      return Crossing{size_t(border[0]), size_t(border[1]), other};
    }
  return std::nullopt;
}

/// The borders that gradients pass on their way to updates. The products by
/// which the forward pass said where borders are served autodiff alone, and are
/// not among them.
std::vector<Crossing> crossingsBehind(ArrayRef<ParameterUpdate> updates) {
  std::vector<Crossing> crossings;
  llvm::SetVector<Operation *> behind;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      behind.insert(op);
  };
  for (ParameterUpdate update : updates)
    add(update.getGradientUse().get());
  for (size_t i = 0; i < behind.size(); ++i) {
    Operation *op = behind[i];
    if (auto crossing = crossingOf(op))
      crossings.push_back(*crossing);
    if (auto stop = dyn_cast<StopGradientOp>(op))
      add(stop.getInput());
    else
      for (Value operand : op->getOperands())
        add(operand);
  }
  return crossings;
}

Value plus(OpBuilder &builder, Value total, Value part) {
  return total ? Arithmetic(builder, part.getLoc()).add(total, part) : part;
}

} // namespace

bool gradus::isAtBorder(Operation *op) { return bool(crossingOf(op)); }

SmallVector<Value>
gradus::groupsWithoutOverflow(OpBuilder &builder, const ScaleGroups &groups,
                              ArrayRef<ParameterUpdate> updates) {
  SmallVector<Value> made(groups.size()), given(groups.size());
  for (ParameterUpdate update : updates) {
    Value &total = made[*groups.groupOf(update.getParameterName())];
    total = plus(builder, total, zeroIfFinite(update.getGradientUse().get()));
  }
  for (const Crossing &crossing : crossingsBehind(updates)) {
    Value part = zeroIfFinite(crossing.gradient);
    made[crossing.higher] = plus(builder, made[crossing.higher], part);
    given[crossing.lower] = plus(builder, given[crossing.lower], part);
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    if (!made[group])
      continue;
    Arithmetic math(builder, made[group].getLoc());
    Value zero = math.number(0, made[group]);
    made[group] = math.equal(made[group], zero);
    if (given[group])
      made[group] = math.make<arith::OrIOp>(
          made[group],
          math.compare(arith::CmpFPredicate::UNE, given[group], zero));
  }
  return made;
}

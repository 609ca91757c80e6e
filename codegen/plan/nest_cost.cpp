// Estimates the costs of nests; see nest_cost.h.

#include "codegen/plan/nest_cost.h"

#include "codegen/plan/plan_ops.h"
#include "ir/scalar_ops.h"

namespace gradus {
using namespace mlir;
using plan::NestOp;

/// The time of a vector operation in units of an addition, as a CPU takes it: a
/// division or root about 8, a polynomial (exp, tanh, ...) about 20.
static int64_t workOf(const ScalarOp &op) {
  switch (op.cost) {
  case ScalarCost::division:
    return 8;
  case ScalarCost::function:
    return 20;
  default:
    return 1;
  }
}

/// Conversions, selections and integer arithmetic are work but no flops.
static bool isFlop(Operation &op, const ScalarOp &known) {
  return known.cost >= ScalarCost::flop &&
         isa<FloatType>(op.getOperand(0).getType());
}

RegionCost costOf(Region &region) {
  RegionCost cost;
  if (region.empty())
    return cost;
  for (Operation &op : region.front())
    if (isa<plan::DotPairsOp>(op)) { // two products and a sum
      cost.work += 1;
      cost.flops += 3;
    } else if (const ScalarOp *known = scalarOp(&op)) {
      cost.work += workOf(*known);
      cost.flops += isFlop(op, *known);
    }
  return cost;
}

RegionCost costOf(NestOp nest) {
  RegionCost map = costOf(nest.getMap()), then = costOf(nest.getThen());
  int64_t combined = nest.getCombine().size();
  int64_t points = product(nest.getParallel());
  int64_t all = combined ? points * product(nest.getReduced()) : 0;
  return {all * (map.flops + combined) + points * then.flops,
          all * (map.work + combined) + points * (then.work + 1)};
}

int64_t bytesOf(Type type) {
  auto shaped = cast<ShapedType>(type);
  if (!shaped.hasStaticShape())
    return 0;
  int64_t bits = shaped.getElementTypeBitWidth();
  return shaped.getNumElements() * ((bits + 7) / 8);
}

int64_t bytesOf(NestOp nest) {
  int64_t bytes = 0;
  llvm::SmallDenseSet<Value> seen;
  for (Value operand : nest->getOperands())
    if (seen.insert(operand).second)
      bytes += bytesOf(operand.getType());
  for (Type type : nest.getResultTypes())
    bytes += bytesOf(type);
  return bytes;
}

bool isMove(NestOp nest) {
  return nest.getCombine().empty() &&
         llvm::all_of(nest.getThen().front(), [](Operation &op) {
           return isFree(op) || isa<arith::TruncIOp>(op);
         });
}

bool isCheap(NestOp nest) {
  return nest.getCombine().empty() && costOf(nest.getThen()).work <= 4 &&
         nest.getThenInputs().size() <= 2;
}

bool readsNoMore(NestOp nest) {
  int64_t read = 0, written = 0;
  for (Value input : nest.getThenInputs())
    if (product(shapeOf(input)) >= product(nest.getParallel()))
      read += bytesOf(input.getType());
  for (Type type : nest.getResultTypes())
    written += bytesOf(type);
  return read <= written;
}

/// Whether a map depends on the reduced dimensions.
static bool variesWhileReducing(NestOp nest, AffineMap map) {
  for (unsigned d = nest.getParallel().size(); d < nest.getNumDims(); ++d)
    if (map.isFunctionOfDim(d))
      return true;
  return false;
}

bool isContraction(NestOp nest) {
  int64_t points = product(nest.getExtents());
  if (nest.getCombine().empty())
    return false;
  for (auto [i, input] : llvm::enumerate(nest.getMapInputs()))
    if (product(shapeOf(input)) < points &&
        variesWhileReducing(nest, nest.getInputMap(i)))
      return true;
  return false;
}

} // namespace gradus

// Estimates of what nests cost; see nest_cost.h.

#include "codegen/nest_cost.h"

namespace gradus {
using namespace mlir;
using plan::NestOp;

/// The time of a vector operation in units of an addition, as a CPU takes it: a
/// division or root about 8, a polynomial (exp, tanh, ...) about 20.
static int64_t workOf(Operation *op) {
  if (isa<plan::IndexOp, plan::YieldOp, arith::ConstantOp>(op))
    return 0;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::RemSIOp, arith::RemFOp,
          math::SqrtOp>(op))
    return 8;
  if (isa<math::MathDialect>(op->getDialect()) &&
      !isa<math::AbsFOp, math::FmaOp>(op))
    return 20;
  return 1;
}

/// Conversions, selections and index arithmetic are work but no flops.
static bool isFlop(Operation *op) {
  bool computes =
      isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp>(op);
  return computes || isa<math::MathDialect>(op->getDialect());
}

RegionCost costOf(Region &region) {
  RegionCost cost;
  if (region.empty())
    return cost;
  for (Operation &op : region.front()) {
    cost.work += workOf(&op);
    cost.flops += isFlop(&op);
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
           return isa<plan::YieldOp, plan::IndexOp, arith::ConstantOp,
                      arith::TruncIOp>(op);
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

/// Whether what a map reads changes while the nest reduces.
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

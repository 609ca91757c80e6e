// Means that a model computes itself; see shared_counts.h.

#include "passes/model/shared_counts.h"

#include "ir/arithmetic.h"
#include "ir/scalar_ops.h"
#include "ir/traits.h"
#include "passes/distribution.h"

using namespace mlir;
using namespace gradus;

namespace {

/// Finds the values that depend on the samples alone: on inputs, but on no
/// state.
llvm::DenseSet<Value> samplesOf(GraphOp graph) {
  auto inputs = graph.getBody().getArguments();
  llvm::DenseSet<Value> samples(inputs.begin(), inputs.end());
  for (Operation &op : graph.getBody().front()) {
    bool any = false, all = true;
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      bool isConstant = maker && maker->hasTrait<OpTrait::ConstantLike>();
      any |= samples.contains(operand);
      all &= samples.contains(operand) || isConstant;
    }
    if (any && all)
      samples.insert_range(op.getResults());
  }
  return samples;
}

bool isOneNumber(Value value) {
  return tensorType(value).getNumElements() == 1;
}

/// The operand from which a divisor's number comes, unchanged or bounded from
/// below by a constant as `max(count, 1)`; null where it is computed.
OpOperand *source(Operation *op) {
  if (op->hasTrait<MovesElements>() && isOneNumber(op->getOperand(0)))
    return &op->getOpOperand(0);
  if (!isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return nullptr;
  for (unsigned bound : {0, 1})
    if (Operation *maker = op->getOperand(bound).getDefiningOp();
        maker && maker->hasTrait<OpTrait::ConstantLike>() &&
        isOneNumber(op->getOperand(bound)))
      return &op->getOpOperand(1 - bound);
  return nullptr;
}

/// Whether a value is a sum, maybe converted.
bool isSum(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && (changesWidth(op) || isa<arith::SIToFPOp, ReshapeOp>(op)))
    op = op->getOperand(0).getDefiningOp();
  auto reduction = dyn_cast_or_null<ReduceOp>(op);
  return reduction && reduction.getKind() == Reduction::sum;
}

} // namespace

void gradus::shareCounts(GraphOp graph, Value ranks) {
  llvm::DenseSet<Value> samples = samplesOf(graph);
  DenseMap<Value, Value> shared;
  for (auto division :
       llvm::to_vector(graph.getBody().front().getOps<arith::DivFOp>())) {
    OpOperand *divisor = &division->getOpOperand(1);
    while (Operation *op = divisor->get().getDefiningOp()) {
      OpOperand *from = source(op);
      if (!from)
        break;
      divisor = from;
    }
    Value own = divisor->get();
    if (!isOneNumber(own) || !samples.contains(own) || !isSum(own))
      continue;
    Value &mean = shared[own];
    if (!mean) {
      OpBuilder builder(graph.getContext());
      builder.setInsertionPointAfterValue(own);
      mean = meanOverRanks(Arithmetic(builder, own.getLoc()), own, ranks);
    }
    divisor->set(mean);
  }
}

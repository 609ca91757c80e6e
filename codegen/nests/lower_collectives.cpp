// Lowers collectives to a command that begins each and one that waits for it.
// The schedule moves the two apart.
//
// A sum along another axis than that of processes is a border: what it takes is
// stored, however it is used. Nothing is fused across it, so the same ops
// before it become the same kernels in every graph, and have the same bits
// (passes/distribution/logical_ranks.cpp). When kernels are formed it is gone.

#include "codegen/nests/lower_to_nests.h"
#include "codegen/plan/plan_ops.h"

namespace gradus {

using namespace mlir;

namespace {

/// Whether the sum may be made in the memory of the value: a command makes it,
/// and nothing else reads it, under another shape either.
bool isOwn(Value value) {
  unsigned uses = 1;
  while (value.hasNUses(uses)) {
    uses = 1;
    Operation *maker = value.getDefiningOp();
    if (auto border = dyn_cast_or_null<plan::FinishOp>(maker);
        border && border.getBorder()) {
      value = border.getBegun()[cast<OpResult>(value).getResultNumber()];
      uses = 2; // by both ends of the border
    } else if (maker && maker->hasTrait<NamesMemory>()) {
      value = maker->getOperand(0);
    } else {
      return maker && !isa<ReadOp, arith::ConstantOp>(maker);
    }
  }
  return false;
}

Value copyOf(OpBuilder &builder, Location location, Value value) {
  Domain domain(builder.getContext());
  auto type = cast<RankedTensorType>(value.getType());
  auto position = domain.parallel(type.getShape());
  plan::NestOp copy =
      elementwiseNest(builder, location, domain, position, type,
                      NestRead{value, domain.thenMap(position), {}}, passOn);
  setLabel(copy, "copy");
  return copy.getResult(0);
}

/// A value like another, made where the collective works. Of a whole that has
/// the own part alone the part is copied.
Value ownCopyOf(OpBuilder &builder, Location location, Value value) {
  auto whole = value.getDefiningOp<WholeOp>();
  if (!whole)
    return copyOf(builder, location, value);
  Value part = copyOf(builder, location, whole.getInput());
  return WholeOp::create(builder, location, whole.getType(), part,
                         whole.getRanks());
}

/// The number of collectives that the block begins before the op.
int64_t numberOf(Operation *op) {
  int64_t number = 0;
  for (Operation &each : *op->getBlock()) {
    if (&each == op)
      break;
    number += isa<plan::StartOp>(each);
  }
  return number;
}

} // namespace

SmallVector<Value> lowerCollective(OpBuilder &builder, Operation *op) {
  auto sum = dyn_cast<AllReduceOp>(op);
  if (!sum)
    return {};
  bool isBorder = sum.getAxis() != kDataAxis;
  SmallVector<Value> operands;
  for (Value operand : sum.getOperands())
    operands.push_back(isBorder || isOwn(operand)
                           ? operand
                           : ownCopyOf(builder, op->getLoc(), operand));
  auto none = RankedTensorType::get({0}, builder.getI8Type());
  int64_t number = numberOf(op);
  auto start =
      plan::StartOp::create(builder, op->getLoc(), none, operands, number,
                            sum.getGroupsAttr(), sum.getPartsAttr(), isBorder);
  auto finish =
      plan::FinishOp::create(builder, op->getLoc(), sum.getResultTypes(),
                             start.getToken(), operands, number, isBorder);
  return SmallVector<Value>(finish.getResults());
}

void removeBorders(Block &block) {
  for (auto finish :
       llvm::make_early_inc_range(block.getOps<plan::FinishOp>())) {
    if (!finish.getBorder())
      continue;
    Operation *start = finish.getToken().getDefiningOp();
    finish->replaceAllUsesWith(finish.getBegun());
    finish->erase();
    start->erase();
  }
}

} // namespace gradus

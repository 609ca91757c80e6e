// Follows the operands of a block's ops to and from its sums over ranks.

#include "codegen/kernels/sums_around.h"

using namespace mlir;
using namespace gradus;

SumsAround::SumsAround(Block &block) {
  unsigned sums = llvm::range_size(block.getOps<plan::StartOp>());
  if (sums == 0)
    return;
  llvm::DenseMap<Operation *, unsigned> number; // of a start, from 1
  for (Operation &op : block) {
    if (isa<plan::StartOp>(op))
      number.try_emplace(&op, number.size() + 1);
    unsigned after = 0;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        after = std::max(after, around_.lookup(maker).after);
    if (auto finish = dyn_cast<plan::FinishOp>(op))
      after = std::max(after, number.lookup(finish.getToken().getDefiningOp()));
    around_[&op].after = after;
  }
  for (Operation &op : llvm::reverse(block)) {
    unsigned before =
        isa<plan::StartOp>(op) ? sums + 1 - number.lookup(&op) : 0;
    for (Operation *user : op.getUsers())
      before = std::max(before, around_.lookup(user).before);
    around_[&op].before = before;
  }
}

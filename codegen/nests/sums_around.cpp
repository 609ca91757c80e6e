// Follows the operands of a block's ops to and from its sums over ranks.

#include "codegen/nests/sums_around.h"

using namespace mlir;
using namespace gradus;

SumsAround::SumsAround(Block &block) {
  int64_t sums = 0;
  for (auto start : block.getOps<plan::StartOp>())
    sums = std::max<int64_t>(sums, start.getNumber() + 1);
  if (sums == 0)
    return;
  for (Operation &op : block) {
    int64_t after = 0;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        after = std::max(after, around_.lookup(maker).after);
    if (auto finish = dyn_cast<plan::FinishOp>(op))
      after = std::max<int64_t>(after, finish.getNumber() + 1);
    around_[&op].after = after;
  }
  for (Operation &op : llvm::reverse(block)) {
    auto start = dyn_cast<plan::StartOp>(op);
    int64_t before = start ? sums - int64_t(start.getNumber()) : 0;
    for (Operation *user : op.getUsers())
      before = std::max(before, around_.lookup(user).before);
    around_[&op].before = before;
  }
}

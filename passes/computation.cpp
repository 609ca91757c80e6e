// Walks back from an op, and copies what depends on states; see computation.h.

#include "passes/computation.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gradus {

SmallVector<Operation *> computationOf(Operation *op) {
  DenseSet<Operation *> behind{op};
  SmallVector<Operation *> ops;
  for (Operation *each = op; each; each = each->getPrevNode()) {
    if (!behind.contains(each))
      continue;
    ops.push_back(each);
    for (Value operand : each->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        behind.insert(definition);
  }
  return ops;
}

Value valueAt(OpBuilder &builder, Value value,
              const llvm::StringMap<Value> &states) {
  SmallVector<Operation *> computation = computationOf(value.getDefiningOp());
  IRMapping copies;
  for (Operation *op : llvm::reverse(computation)) {
    auto read = dyn_cast<ReadOp>(op);
    if (Value other = read ? states.lookup(read.getState()) : Value())
      copies.map(read.getResult(), other);
    else if (llvm::any_of(op->getOperands(), [&](Value operand) {
               return copies.contains(operand);
             }))
      builder.clone(*op, copies);
  }
  return copies.lookupOrDefault(value);
}

} // namespace gradus

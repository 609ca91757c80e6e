// Follows values from inputs and states; see own_values.h.

#include "passes/distribution/own_values.h"

#include "passes/distribution.h"
#include "runtime/well_known.h"

using namespace mlir;
using namespace gradus;

bool gradus::isOwnState(ProgramOp program, StringRef name) {
  StateOp state = program.getState(name);
  return name == well_known::kRank || (state && state.getDiffersAlong());
}

llvm::DenseSet<Value> gradus::ownValues(ProgramOp program, GraphOp graph) {
  auto inputs = graph.getBody().getArguments();
  llvm::DenseSet<Value> own(inputs.begin(), inputs.end());
  for (Operation &op : graph.getBody().front()) {
    auto read = dyn_cast<ReadOp>(op);
    if ((read && isOwnState(program, read.getState())) || isa<PartOp>(op) ||
        (!isOverRanks(&op) &&
         llvm::any_of(op.getOperands(),
                      [&](Value operand) { return own.contains(operand); })))
      own.insert_range(op.getResults());
  }
  return own;
}

void gradus::markOwn(StateOp state) {
  state.setDiffersAlongAttr(
      Builder(state.getContext()).getStrArrayAttr({kDataAxis}));
}

SmallVector<WriteOp> gradus::ownWrites(ProgramOp program, GraphOp graph) {
  llvm::DenseSet<Value> own = ownValues(program, graph);
  SmallVector<WriteOp> writes;
  for (auto write : graph.getBody().front().getOps<WriteOp>())
    if (own.contains(write.getValue()) &&
        isa<FloatType>(tensorType(write.getValue()).getElementType()))
      writes.push_back(write);
  return writes;
}

SmallVector<WriteOp> gradus::markOwnWrites(ProgramOp program, GraphOp graph,
                                           ArrayRef<Role> roles) {
  SmallVector<WriteOp> writes;
  size_t known = 0;
  do {
    known = writes.size();
    writes = ownWrites(program, graph);
    llvm::erase_if(writes, [&](WriteOp write) {
      StateOp state = program.getState(write.getState());
      return !llvm::is_contained(roles, state.getRole());
    });
    for (WriteOp write : writes)
      markOwn(program.getState(write.getState()));
  } while (writes.size() > known);
  return writes;
}

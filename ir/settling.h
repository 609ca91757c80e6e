// Runs of the reference evaluator whose values change on the way.
#pragma once

#include "ir/evaluator.h"

namespace gradus {

/// What may change the values of a run, as roundings do.
class Settling {
public:
  virtual ~Settling() = default;
  /// What an op is about to compute from; copies.
  virtual void operands(mlir::Operation &op,
                        llvm::MutableArrayRef<HostTensor> tensors) {}
  /// What an op has made, or an input of the graph.
  virtual void made(mlir::Value value, HostTensor &tensor) {}
};

/// The same as evaluateGraph() of evaluator.h.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateSettling(GraphOp graph, llvm::ArrayRef<HostTensor> inputs,
                 StateMap &states, StateMap *gradients, Settling &settling);

} // namespace gradus

// Runs of the reference evaluator that change values on the way.
#pragma once

#include "ir/evaluator/evaluator.h"

namespace gradus {

/// Changes the values of a run, as rounding does.
class Settling {
public:
  virtual ~Settling() = default;
  /// Called with copies of the operands of an op, before it is computed.
  virtual void operands(mlir::Operation &op,
                        llvm::MutableArrayRef<HostTensor> tensors) {}
  /// Called with each result of an op and each input of the graph.
  virtual void made(mlir::Value value, HostTensor &tensor) {}
};

/// Evaluates like evaluateGraph() of evaluator.h.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateSettling(GraphOp graph, llvm::ArrayRef<HostTensor> inputs,
                 StateMap &states, StateMap *gradients, Settling &settling);

} // namespace gradus

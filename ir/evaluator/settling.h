// Runs of the reference evaluator that change values on the way.
#pragma once

#include "ir/evaluator/evaluator.h"

namespace gradus {

class ScanOp;

/// Changes the values of a run, as rounding does, in the steps of scans too.
class Settling {
public:
  virtual ~Settling() = default;
  /// Called with the operands of an op, which nothing else has, before it is
  /// computed; for a scan with those of the ops in its body, in each step.
  virtual void operands(mlir::Operation &op,
                        llvm::MutableArrayRef<HostTensor> tensors) {}
  /// Called with each result of an op and each input of the graph.
  virtual void made(mlir::Value value, HostTensor &tensor) {}
};

/// Evaluates like evaluateGraph() of evaluator.h.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateSettling(GraphOp graph, llvm::ArrayRef<HostTensor> inputs,
                 StateMap &states, StateMap *gradients, Settling &settling);

/// Evaluates an op like evaluateOp() of evaluator.h.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateSettling(mlir::Operation &op, llvm::SmallVector<HostTensor> operands,
                 Settling &settling);

/// Evaluates a scan, whose ops are settled in each step.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateSettling(ScanOp op, llvm::ArrayRef<HostTensor> operands,
                 Settling &settling);

} // namespace gradus

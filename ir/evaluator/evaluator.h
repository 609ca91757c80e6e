// The reference evaluator: runs single ops and whole graphs in f64 and i64,
// with one plain loop for each op. Gradient checks and `gradus verify` compare
// with it, and it folds shape arithmetic. It is slow.
#pragma once

#include "ir/gradus.h"
#include "llvm/ADT/StringMap.h"

namespace gradus {

/// Maps the names of states to their values.
using StateMap = llvm::StringMap<HostTensor>;

/// A tensor of zeros.
HostTensor zeros(llvm::ArrayRef<int64_t> shape, bool isFloat = true);
HostTensor zeros(mlir::RankedTensorType type);

/// The values of an attribute, or failure if they are not available.
mlir::FailureOr<HostTensor> toHost(mlir::ElementsAttr elements);
/// The values rounded to the element type of `type`, whose shape they have.
mlir::DenseElementsAttr toElements(const HostTensor &tensor,
                                   mlir::RankedTensorType type);

/// Computes the results of one op; reports an error on the op if it cannot be
/// evaluated or the operands have the wrong shapes.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);

/// Computes the outputs of a graph. Reads see `states` as they are; writes show
/// in `states` when the graph is done. The gradients that reach `gradus.update`
/// ops go to `gradients` by parameter; without it such an op is an error, as it
/// does not say what the new value is.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateGraph(GraphOp graph, llvm::ArrayRef<HostTensor> inputs,
              StateMap &states, StateMap *gradients = nullptr);

} // namespace gradus

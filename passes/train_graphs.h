// The training graphs, of which each step runs one: @train, and the variants
// that methods derive from it (passes/step_variants.h).
#pragma once

#include "ir/gradus.h"
#include "runtime/well_known.h"

namespace gradus {

constexpr llvm::StringLiteral kTrain(well_known::kTrain);
/// An attribute of variants of @train: what they do with gradients.
constexpr llvm::StringLiteral kTrains = "gradus.trains";
/// Its values: the graph updates parameters, as @train does; or it only adds
/// gradients up.
constexpr llvm::StringLiteral kUpdates = "updates";
constexpr llvm::StringLiteral kAccumulates = "accumulates";
/// An attribute of variants that freezing makes: the suffix by which their
/// slots differ where each has its own, `_cut1`.
constexpr llvm::StringLiteral kCut = "gradus.cut";
/// An attribute of updates: the earlier steps in which the parameter was
/// frozen.
constexpr llvm::StringLiteral kRested = "gradus.rested";

/// The suffix of a training graph: `_cut1` of @train_cut1, empty for @train.
inline llvm::StringRef suffixOf(llvm::StringRef train) {
  return train.drop_front(kTrain.size());
}

/// The graphs that do `what` with gradients, @train among those that update.
inline llvm::SmallVector<GraphOp> graphsThat(llvm::StringRef what,
                                             ProgramOp program) {
  llvm::SmallVector<GraphOp> graphs;
  for (auto graph : program.getBody().getOps<GraphOp>()) {
    auto trains = graph->getAttrOfType<mlir::StringAttr>(kTrains);
    bool isTrain = graph.getSymName() == kTrain;
    if (trains ? trains == what : isTrain && what == kUpdates)
      graphs.push_back(graph);
  }
  return graphs;
}

/// The output of a training graph that is differentiated; null if it has none.
inline mlir::OpOperand *findLoss(GraphOp graph) {
  mlir::Operation *end = graph.getBody().front().getTerminator();
  for (mlir::OpOperand &output : end->getOpOperands())
    if (graph.getOutputName(output.getOperandNumber()) == well_known::kLoss)
      return &output;
  return nullptr;
}

/// @train and its variants that update; empty if the program is not trained. A
/// pass on gradients must treat each like @train.
inline llvm::SmallVector<GraphOp> trainGraphs(ProgramOp program) {
  return graphsThat(kUpdates, program);
}

} // namespace gradus

// The graphs that one step of training runs one of: @train, and what gradient
// freezing made of it.
#pragma once

#include "ir/gradus.h"
#include "runtime/well_known.h"

namespace gradus {

constexpr llvm::StringLiteral kTrain(well_known::kTrain);
constexpr llvm::StringLiteral kCutPrefix = "train_cut";
/// The graphs that only add gradients up: @train_accumulate and
/// @train_accumulate_cut1.
constexpr llvm::StringLiteral kAccumulating = "train_accumulate";
/// On an update: the steps before in which its parameter rested.
constexpr llvm::StringLiteral kRested = "gradus.rested";

/// `_cut1` of @train_cut1, nothing of @train.
inline llvm::StringRef suffixOf(llvm::StringRef train) {
  return train.drop_front(kTrain.size());
}

/// @train and @train_cut1, ...; none if the program is not trained. A pass on
/// gradients does to each what it does to @train.
inline llvm::SmallVector<GraphOp> trainGraphs(ProgramOp program) {
  llvm::SmallVector<GraphOp> graphs;
  for (auto graph : program.getBody().getOps<GraphOp>())
    if (graph.getSymName() == kTrain ||
        graph.getSymName().starts_with(kCutPrefix))
      graphs.push_back(graph);
  return graphs;
}

} // namespace gradus

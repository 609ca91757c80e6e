// The training graphs, of which each step runs one: @train, and the variants
// that gradient freezing derives from it.
#pragma once

#include "ir/gradus.h"
#include "runtime/well_known.h"

namespace gradus {

constexpr llvm::StringLiteral kTrain(well_known::kTrain);
constexpr llvm::StringLiteral kCutPrefix = "train_cut";
/// The graphs that only add gradients up: @train_accumulate and
/// @train_accumulate_cut1.
constexpr llvm::StringLiteral kAccumulating = "train_accumulate";
/// An attribute of updates: the earlier steps in which the parameter was
/// frozen.
constexpr llvm::StringLiteral kRested = "gradus.rested";

/// The suffix of a training graph: `_cut1` of @train_cut1, empty for @train.
inline llvm::StringRef suffixOf(llvm::StringRef train) {
  return train.drop_front(kTrain.size());
}

/// @train and @train_cut1, ...; empty if the program is not trained. A pass on
/// gradients must treat each like @train.
inline llvm::SmallVector<GraphOp> trainGraphs(ProgramOp program) {
  llvm::SmallVector<GraphOp> graphs;
  for (auto graph : program.getBody().getOps<GraphOp>())
    if (graph.getSymName() == kTrain ||
        graph.getSymName().starts_with(kCutPrefix))
      graphs.push_back(graph);
  return graphs;
}

} // namespace gradus

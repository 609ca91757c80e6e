// Finds batch normalizations that residual, depthwise and dense blocks of
// convolutions do not need, by the rules of LessBN.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace gradus {

/// The verdict on one batch normalization, with its reason in words.
struct NormVerdict {
  bool redundant = false;
  std::string reason;
};

/// Returns a verdict for each batch normalization of the graph, in its order.
llvm::MapVector<mlir::Operation *, NormVerdict> judgeNorms(GraphOp graph);

} // namespace gradus

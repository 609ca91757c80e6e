// Blocks of convolutions whose batch normalizations are more than they need:
// residual, depthwise and dense ones, as LessBN knows them.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace gradus {

/// What was found of one batch normalization, in words.
struct NormVerdict {
  bool redundant = false;
  std::string reason;
};

/// A verdict for each batch normalization of the graph, in its order.
llvm::MapVector<mlir::Operation *, NormVerdict> judgeNorms(GraphOp graph);

} // namespace gradus

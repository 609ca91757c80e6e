// Lists what the ops of a block need, for codegen/needs.h.
#pragma once

#include "codegen/needs.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace gradus {

/// Lists for each op of the block the places of the ops that make its operands,
/// each operand as `seen`. An op without results is never needed and has none.
template <typename Seen>
std::vector<Needs::Makers>
makersIn(mlir::Block &block,
         const llvm::DenseMap<mlir::Operation *, unsigned> &places, Seen seen) {
  std::vector<Needs::Makers> makers;
  for (mlir::Operation &op : block) {
    Needs::Makers &ofOp = makers.emplace_back();
    if (op.getNumResults() == 0)
      continue;
    for (mlir::Value operand : op.getOperands())
      if (mlir::Operation *maker = seen(operand).getDefiningOp())
        ofOp.push_back(places.lookup(maker));
  }
  return makers;
}

/// The places of the ops of a block, in its order.
inline llvm::DenseMap<mlir::Operation *, unsigned>
placesIn(mlir::Block &block) {
  llvm::DenseMap<mlir::Operation *, unsigned> places;
  for (mlir::Operation &op : block)
    places.try_emplace(&op, places.size());
  return places;
}

} // namespace gradus

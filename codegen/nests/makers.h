// Lists the defining ops of operands in a block, for codegen/nests/needs.h.
#pragma once

#include "codegen/nests/needs.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace gradus {

/// Lists for each op of the block the numbers of the ops that define its
/// operands, each operand mapped by `seen`. An op without results has an empty
/// list, since nothing depends on it.
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

/// The number of each op of a block, in its order.
inline llvm::DenseMap<mlir::Operation *, unsigned>
placesIn(mlir::Block &block) {
  llvm::DenseMap<mlir::Operation *, unsigned> places;
  for (mlir::Operation &op : block)
    places.try_emplace(&op, places.size());
  return places;
}

} // namespace gradus

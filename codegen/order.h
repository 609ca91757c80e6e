// The order of a block's ops after rewriting.
#pragma once

#include "mlir/IR/Block.h"

namespace gradus {

/// Puts ops behind what makes their operands, as mlir::sortTopologically does
/// and in the same order, in time that grows with the block.
void sortByOperands(mlir::Block &block);

} // namespace gradus

// The order of a block's ops after rewriting.
#pragma once

#include "mlir/IR/Block.h"

namespace gradus {

/// Sorts the ops behind the defining ops of their operands, in the same order
/// as mlir::sortTopologically does, in linear time.
void sortByOperands(mlir::Block &block);

} // namespace gradus

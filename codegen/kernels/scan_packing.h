// How the kernel of a scan reads the weights of its matmuls: in panels of
// columns, which commands before the kernel make of whole matrices.
#pragma once

#include "codegen/kernels/scan_places.h"

namespace gradus {

/// The matrix [inner, columns] of a matmul in a step, or [columns, inner] if it
/// is turned. Panels are `width` columns: [panels, inner, width], where the
/// products are of single numbers. With pairs of bf16 they are [panels, inner /
/// 2, width, 2].
struct ScanPanels {
  int64_t columns, inner, width;
  bool isTurned, ofPairs;

  int64_t count() const { return columns / width; }
};

/// The panels of map input `number` of a nest, a tensor of that shape; none if
/// the nest does more than multiply rows with all of a matrix. `reads` are its
/// map inputs, and an item multiplies so many rows; `pairs` allows pairs, if
/// the rows can be read so.
std::optional<ScanPanels> panelsOf(plan::NestOp nest, unsigned number,
                                   llvm::ArrayRef<ScanRead> reads,
                                   llvm::ArrayRef<int64_t> shape, int64_t rows,
                                   bool pairs);

/// Packs a matrix in a graph.
mlir::Value packedMatrix(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value matrix, const ScanPanels &panels);

/// Lets the sums of a panel, a dimension of a nest, ask for what the next one
/// adds to its sums: it was written long ago and lies in no cache.
void askForNextPanel(NestParts &parts, unsigned panel);

/// A buffer of a kernel with numbers of 16 bits, seen as pairs of neighbours.
mlir::Value pairsOf(mlir::OpBuilder &builder, mlir::Value buffer);

} // namespace gradus

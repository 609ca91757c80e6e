// Writes what the kernels of Winograd's algorithm share: the loops over tiles,
// and the transform of tiles of a source.
#pragma once

#include "codegen/kernels/form_kernels_outline.h"
#include "codegen/kernels/kernel_writer.h"
#include "codegen/kernels/winograd_transforms.h"
#include "codegen/plan/winograd_tiles.h"

namespace gradus {

/// Tiles of a row that are alike: those of one row of tiles in one segment of
/// columns. `tile` is the number of the first among the item's tiles.
struct TilePart {
  mlir::AffineExpr image, tileRow, tile;
  WinogradSegment row, column;
};

class WinogradWriter : public KernelWriter {
public:
  WinogradWriter(mlir::MLIRContext *context, const WinogradSizes &sizes,
                 const WinogradTiles &tiles, mlir::TypeRange operands,
                 mlir::TypeRange results, int64_t items)
      : KernelWriter(context, operands, results, items), sizes_(sizes),
        tiles_(tiles) {}

protected:
  /// Calls `body` for all parts of the tiles in a group of images and a group
  /// of rows, in loops over these.
  void forParts(mlir::AffineExpr images, mlir::AffineExpr rows,
                llvm::function_ref<void(const TilePart &)> body);

  /// Transforms the tiles of such groups: `count` blocks of channels from
  /// number `first` on, into planes of tiles by channels, where they are those
  /// from number `place` on; null: from `first` on.
  void transformSource(mlir::Value source, mlir::AffineExpr first,
                       int64_t count, mlir::Value into, mlir::AffineExpr images,
                       mlir::AffineExpr rows, mlir::AffineExpr place = {});

private:
  void forRows(mlir::AffineExpr rows, const WinogradSegment &segment,
               llvm::function_ref<void(mlir::AffineExpr inItem)> body);

  const WinogradSizes &sizes_;
  const WinogradTiles &tiles_;
};

/// Adds a kernel, and launches it for the op; it has one result and as many
/// items as it says.
mlir::Value launchWinograd(mlir::OpBuilder &builder, plan::WinogradOp op,
                           KernelTable &kernels, plan::KernelOp kernel,
                           mlir::ValueRange operands, mlir::Type result,
                           int64_t flops, llvm::StringRef label);

} // namespace gradus

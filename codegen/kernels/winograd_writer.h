// Writes what the kernels of Winograd's algorithm share: the loops over tiles,
// and the transforms of tiles of a source or of the gradient of outputs.
//
// Tensors of bf16 are widened where they are read, and results are rounded
// where they are written: scratch, transforms and sums are f32.
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

/// Tiles that are transformed: `count` blocks of channels of a tensor from
/// number `first` on, into planes of tiles by `channels`, where they are those
/// from number `place` on.
struct TileBlocks {
  mlir::Value from, into;
  mlir::AffineExpr first, place;
  int64_t count, channels;
};

class WinogradWriter : public KernelWriter {
public:
  WinogradWriter(mlir::MLIRContext *context, const WinogradSizes &sizes,
                 const WinogradTiles &tiles, mlir::TypeRange operands,
                 mlir::TypeRange results, int64_t items)
      : KernelWriter(context, operands, results, items), sizes_(sizes),
        tiles_(tiles), f32_(mlir::Float32Type::get(context)) {}

protected:
  /// Calls `body` for all parts of the tiles in a group of images and a group
  /// of rows, in loops over these.
  void forParts(mlir::AffineExpr images, mlir::AffineExpr rows,
                llvm::function_ref<void(const TilePart &)> body);

  /// Writes a nest whose code is f32, whatever its buffers are. A null result
  /// is zero.
  void transform(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<At> reads,
                 llvm::ArrayRef<At> outs, Codes code);

  /// Transform the tiles of such groups: of the source, and of the gradient of
  /// outputs.
  void transformSource(const TileBlocks &blocks, mlir::AffineExpr images,
                       mlir::AffineExpr rows);
  void transformGradient(const TileBlocks &blocks, mlir::AffineExpr images,
                         mlir::AffineExpr rows);

  mlir::Value f32Scratch(llvm::ArrayRef<int64_t> shape) {
    return scratch(shape, f32_);
  }

private:
  struct Positions;
  using PositionsOf =
      llvm::function_ref<Positions(const WinogradSegment &, int64_t pad)>;
  using TileTransform = WinogradSquare (*)(const Arithmetic &,
                                           mlir::ValueRange);
  void transformTiles(const TileBlocks &blocks, mlir::AffineExpr images,
                      mlir::AffineExpr rows, int64_t side,
                      PositionsOf positionsOf, TileTransform code);
  void forRows(mlir::AffineExpr rows, const WinogradSegment &segment,
               llvm::function_ref<void(mlir::AffineExpr inItem)> body);

  const WinogradSizes &sizes_;
  const WinogradTiles &tiles_;
  mlir::Type f32_;
};

/// Returns what the names of the op's kernels begin with.
inline std::string nameOfWinograd(plan::WinogradOp op) {
  return op.getTile() == 4 ? "winograd" : "winograd_2x2";
}

/// Adds a kernel, and launches it for the op; it has one result and as many
/// items as it says.
mlir::Value launchWinograd(mlir::OpBuilder &builder, plan::WinogradOp op,
                           KernelTable &kernels, plan::KernelOp kernel,
                           mlir::ValueRange operands, mlir::Type result,
                           int64_t flops, llvm::StringRef label);

} // namespace gradus

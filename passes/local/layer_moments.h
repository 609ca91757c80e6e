// Second moments of both sides of a weight's layers: of what goes into each,
// and of the gradient of what comes out. Blocks on their diagonals are all that
// is computed.
#pragma once

#include "passes/local/layer_uses.h"

namespace gradus {

/// Rows of a side: the elements of a value along an axis, or the patches that a
/// window takes from images. Layers have equal parts of a row.
struct SideRows {
  mlir::Value value;
  int64_t axis; // of the features; of images it is 1
  ConvolutionBackwardWeightsOp window = {}; // null: no patches
  int64_t groups = 1;                       // the parts of a row

  int64_t features() const; // of a part
  llvm::ArrayRef<int64_t> taps() const;
  /// A row for each element beside the features, or for each position of the
  /// window.
  int64_t count() const;
};

/// The elements of a piece's value, along an axis.
mlir::Value takePiece(mlir::OpBuilder &builder, const SidePiece &piece,
                      int64_t axis);

/// The features of a side of one layer; `weight` is the type of all layers'.
int64_t featuresOf(const WeightLayers &layers, mlir::RankedTensorType weight,
                   bool isInputs);

/// The number of times that a sample uses the weight of a convolution, in each
/// part; nothing if it differs. Other weights have 1.
std::optional<int64_t> positionsOf(const WeightLayers &layers);

/// The mean of r r^T over all rows r, as diagonal blocks of at most `block`
/// rows: [groups B, b, b] of f32, whatever the layer computes in. With
/// `hasOnes` each row has a 1 behind it.
mlir::Value secondMoment(mlir::OpBuilder &builder,
                         llvm::ArrayRef<SideRows> rows, int64_t block,
                         bool hasOnes = false);

/// The blocks of a side of all layers, of which `moment` makes those of the
/// layers that share the rows of their uses.
mlir::Value momentsOf(
    mlir::OpBuilder &builder, const WeightLayers &layers, bool isInputs,
    llvm::function_ref<mlir::Value(llvm::MutableArrayRef<SideRows>)> moment);
/// The same of second moments as they are, in blocks of at most `block` rows.
mlir::Value momentsOf(mlir::OpBuilder &builder, const WeightLayers &layers,
                      bool isInputs, int64_t block);

/// `gradus.factors` of a weight, with the form of its layers; a side that is
/// null is left alone.
FactorsOp addFactors(mlir::OpBuilder &builder, ParameterUpdate update,
                     const WeightLayers &layers, mlir::Value inputs,
                     mlir::Value outputs);

} // namespace gradus

// A weight as layers: what of a model's rows belongs together, where a weight
// is used several times or in parts.
//
// Uses of a whole weight are rows of one layer. Parts that see the same inputs,
// next to each other, are one layer, too, as are parts that add up to the same
// outputs. Other parts are layers of their own, if they are equally large.
#pragma once

#include "passes/local/weight_products.h"

namespace gradus {

/// Some features of a side: `size` of a value's from `from` on, which are the
/// layer's from `to` on.
struct SidePiece {
  mlir::Value value;
  int64_t from, to, size;

  bool operator==(const SidePiece &other) const = default;
};

/// One side of a use: rows of features along an axis, or images, from which a
/// window takes patches. Pieces are in order, and add up where they have the
/// same place.
struct UseSide {
  llvm::SmallVector<SidePiece> pieces;
  int64_t axis;
  ConvolutionBackwardWeightsOp window; // null: no patches
  SideRange range;                     // of the weight; `from` means nothing
};

struct LayerUse {
  WeightProduct product; // one of those that it consists of
  UseSide inputs, outputs;
};

/// Layers next to each other that have the same uses: equal parts of the side
/// that is cut, with all of the other side.
struct LayerUses {
  int64_t count = 1;
  std::vector<LayerUse> uses = {};
};

/// All layers that a weight consists of.
struct WeightLayers {
  WeightKind kind;
  llvm::SmallVector<int64_t> axes; // of the weight that count inputs
  /// A side of the weight may be cut into layers; a convolution's groups cut
  /// both.
  bool cutsInputs = false, cutsOutputs = false;
  /// Whether the weight lies as parts of its inputs, and not of its outputs.
  bool groupsInputs = false;
  int64_t groups = 1; // the layers of all `parts`
  std::vector<LayerUses> parts = {};
};

/// Nothing with the reason in words where the parts form no such layers.
std::optional<WeightLayers> layersOf(llvm::ArrayRef<WeightPart> parts,
                                     std::string &reason);
/// The same of a parameter whose gradient is as autodiff has left it.
std::optional<WeightLayers> layersOf(ParameterUpdate update,
                                     const ForwardPass &forward,
                                     std::string &reason);

} // namespace gradus

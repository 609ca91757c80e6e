// The role of a parameter in the model: the weight of a convolution, of a dense
// layer, or an embedding; and which of its axes belong to one output.
#pragma once

#include "ir/gradus.h"

#include <optional>

namespace gradus {

enum class WeightKind { convolution, dense, embedding };

struct WeightAxes {
  WeightKind kind;
  /// The axes of the inputs of one output, ascending.
  llvm::SmallVector<int64_t> inputs;
  int64_t groups = 1; // for a convolution
  /// The input axis that consists of groups, one after another, of which an
  /// output uses only one: in a transposed convolution with groups.
  std::optional<int64_t> split = {};

  bool operator==(const WeightAxes &other) const {
    return inputs == other.inputs && groups == other.groups &&
           split == other.split;
  }
};

llvm::StringRef nameOf(WeightKind kind);

/// The role of a parameter in `graph`, looking through casts, transposes,
/// slices and reshapes that add or drop axes of size 1. Nothing if it is also
/// used in another way, or if the axes of its uses differ.
std::optional<WeightAxes> weightAxes(GraphOp graph, llvm::StringRef parameter);

} // namespace gradus

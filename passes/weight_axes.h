// What a parameter is to the model: the weight of a convolution, of a dense
// layer, or an embedding, and which of its axes are inputs of one output.
#pragma once

#include "ir/gradus.h"

#include <optional>

namespace gradus {

enum class WeightKind { convolution, dense, embedding };

struct WeightAxes {
  WeightKind kind;
  /// Over which one output's elements lie, ascending.
  llvm::SmallVector<int64_t> inputs;
  int64_t groups = 1; // of a convolution
  /// Which of the inputs lie in groups, one behind the other, of which an
  /// output has its own alone: that of a transposed convolution in groups.
  std::optional<int64_t> split = {};

  bool operator==(const WeightAxes &other) const {
    return inputs == other.inputs && groups == other.groups &&
           split == other.split;
  }
};

llvm::StringRef nameOf(WeightKind kind);

/// The parameter as `graph` uses it, seen through casts, transposes, slices and
/// views that add or drop axes of size 1. Nothing where it is used as something
/// else too, or in ways that have no such axes in common.
std::optional<WeightAxes> weightAxes(GraphOp graph, llvm::StringRef parameter);

} // namespace gradus

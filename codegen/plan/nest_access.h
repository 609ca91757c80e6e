// A nest in the form that emitters use: its extents and, for every input and
// output, the accessed element as a linear function of the position.
#pragma once

#include "codegen/plan/plan.h"

namespace gradus {

/// A linear function of the position in the domain:
/// offset + sum strides[d] * position[d] + sum scale * expression(position).
struct Linear {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides; // one a dimension
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>>
      terms; // divisions and remainders

  bool isIrregularIn(unsigned dim) const; // a term has the dimension
  bool dependsOn(unsigned dim) const {
    return strides[dim] != 0 || isIrregularIn(dim);
  }
};

Linear flatten(mlir::AffineExpr expression, unsigned dims);

/// The condition value >= 0, or value == 0.
struct Condition {
  Linear value;
  bool equality = false;
};

/// The element of a buffer that a position accesses, and the condition for it.
struct Access {
  mlir::Value buffer;
  mlir::Type element;
  Linear place;
  llvm::SmallVector<Condition> guard; // all must hold, otherwise it reads 0

  bool isGuardedBy(unsigned dim) const;
  bool dependsOn(unsigned dim) const {
    return place.dependsOn(dim) || isGuardedBy(dim);
  }
  /// Whether the element moves by `stride` when the position moves by one.
  bool hasStride(unsigned dim, int64_t stride) const {
    return place.strides[dim] == stride && !place.isIrregularIn(dim);
  }
};

struct Nest {
  plan::NestOp op;
  unsigned parallel = 0; // dimensions before the reduced ones
  llvm::SmallVector<int64_t>
      extents; // of all dimensions; kDynamic: see `items`
  unsigned mapInputs = 0;
  std::vector<Access> inputs; // map inputs, then the others
  std::vector<Access> outputs;
  llvm::SmallVector<Reduction> combine;

  /// The dimension that is divided into work items and its length per item, or
  /// -1.
  int itemDim = -1;
  int64_t itemLength = 1;
  /// Dimensions 1 .. loops are the induction variables of the loops around.
  unsigned loops = 0;

  mlir::Region &map() const { return plan::NestOp(op).getMap(); }
  mlir::Region &then() const { return plan::NestOp(op).getThen(); }
  unsigned dims() const { return extents.size(); }
  bool isReduced(unsigned dim) const { return dim >= parallel; }
  bool isLoop(unsigned dim) const { return dim >= 1 && dim <= loops; }
  bool hasReduction() const { return !combine.empty(); }
  /// Whether an input is only asked for.
  bool isAsked(unsigned input) const {
    return input >= mapInputs && plan::NestOp(op).isAsked(input - mapInputs);
  }
};

/// Reads a nest of a kernel. Neighbouring dimensions are merged if every access
/// steps through them as through one (the first gets extent 1).
Nest readNest(plan::NestOp op, plan::Split split);

} // namespace gradus

// Affine maps of fused nests: composition, and the inverse from an element to
// the point that writes it.
#pragma once

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"

#include <optional>

namespace gradus {

/// The position along each dimension of a nest as a function of another nest's
/// dimensions.
struct Point {
  llvm::SmallVector<mlir::AffineExpr> position;
  unsigned dims = 0; // of the other nest

  /// Composes `map` with this point.
  mlir::AffineMap through(mlir::AffineMap map) const;
  /// The set as a set of the other nest's points; null stays null.
  mlir::IntegerSet through(mlir::IntegerSet set) const;
};

/// The point of a domain with these extents that `map` sends to the element
/// `at`, if each dimension appears alone in one result of `map`.
std::optional<Point> pointAt(mlir::AffineMap map,
                             llvm::ArrayRef<int64_t> extents,
                             mlir::AffineMap at);

/// The intersection of two sets; a null set holds all points.
mlir::IntegerSet intersect(mlir::IntegerSet a, mlir::IntegerSet b);

/// The index into a tensor of shape `from` of the element that has index `at`
/// when the memory is viewed as shape `to`, if that needs no division.
std::optional<mlir::AffineMap> throughReshape(mlir::AffineMap at,
                                              llvm::ArrayRef<int64_t> from,
                                              llvm::ArrayRef<int64_t> to);

/// The row-major number of the element that `map` gives in a tensor of `shape`.
mlir::AffineMap linearised(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

} // namespace gradus

// Affine maps of nests that are joined: composing them and going back from an
// element to the point that writes it.
#pragma once

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"

#include <optional>

namespace gradus {

/// Positions along each dimension of a nest, over the dimensions of another.
struct Point {
  llvm::SmallVector<mlir::AffineExpr> position;
  unsigned dims = 0; // of the other nest

  /// What `map` gives at this point.
  mlir::AffineMap through(mlir::AffineMap map) const;
  /// The set's points as those of the other nest; null stays null.
  mlir::IntegerSet through(mlir::IntegerSet set) const;
};

/// The point of a domain of these extents that `map` takes to the element
/// `at`, if each dimension stands alone in one result of `map`.
std::optional<Point> pointAt(mlir::AffineMap map,
                             llvm::ArrayRef<int64_t> extents,
                             mlir::AffineMap at);

/// Points in both sets; null sets hold all.
mlir::IntegerSet intersect(mlir::IntegerSet a, mlir::IntegerSet b);

/// The index into `from` that is the element `at` of the same memory seen as
/// `to`, if it needs no division.
std::optional<mlir::AffineMap> throughReshape(mlir::AffineMap at,
                                              llvm::ArrayRef<int64_t> from,
                                              llvm::ArrayRef<int64_t> to);

/// The element that `map` gives in a tensor of `shape`, as a number in
/// row-major order.
mlir::AffineMap linearised(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

} // namespace gradus

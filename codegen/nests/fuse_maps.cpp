// Composes and inverts the affine maps of nests; see fuse_maps.h.

#include "codegen/nests/fuse_maps.h"

namespace gradus {
using namespace mlir;

AffineMap Point::through(AffineMap map) const {
  auto point = AffineMap::get(dims, 0, position, map.getContext());
  return simplifyAffineMap(map.compose(point));
}

IntegerSet Point::through(IntegerSet set) const {
  return set == IntegerSet() ? set
                             : set.replaceDimsAndSymbols(position, {}, dims, 0);
}

std::optional<Point> pointAt(AffineMap map, ArrayRef<int64_t> extents,
                             AffineMap at) {
  AffineExpr zero = getAffineConstantExpr(0, map.getContext());
  Point point{SmallVector<AffineExpr>(extents.size()), at.getNumDims()};
  for (auto [result, expression] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expression);
    if (!dim && !isa<AffineConstantExpr>(expression))
      return std::nullopt;
    if (dim)
      point.position[dim.getPosition()] = at.getResult(result);
  }
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    if (!point.position[dim] && extent != 1)
      return std::nullopt;
    if (!point.position[dim])
      point.position[dim] = zero;
  }
  return point;
}

IntegerSet intersect(IntegerSet a, IntegerSet b) {
  if (a == IntegerSet() || a == b)
    return b;
  if (b == IntegerSet())
    return a;
  SmallVector<AffineExpr> constraints(a.getConstraints());
  llvm::append_range(constraints, b.getConstraints());
  SmallVector<bool> equal(a.getEqFlags());
  llvm::append_range(equal, b.getEqFlags());
  return IntegerSet::get(a.getNumDims(), 0, constraints, equal);
}

/// The end of the group of dimensions in `sizes`, from `begin` on, that
/// together have `count` elements; 0 if there is none.
static size_t groupEnd(ArrayRef<int64_t> sizes, size_t begin, int64_t count) {
  int64_t product = 1;
  size_t end = begin;
  while (end < sizes.size() && product < count)
    product *= sizes[end++];
  return product == count ? end : 0;
}

std::optional<AffineMap> throughReshape(AffineMap at, ArrayRef<int64_t> from,
                                        ArrayRef<int64_t> to) {
  SmallVector<AffineExpr> index;
  size_t begin = 0;
  for (int64_t extent : from) {
    AffineExpr position = getAffineConstantExpr(0, at.getContext());
    size_t end = extent == 1 ? begin : groupEnd(to, begin, extent);
    if (end == 0 && extent != 1)
      return std::nullopt; // It is a part of a dimension of `to`.
    for (; begin < end; ++begin)
      position = position * to[begin] + at.getResult(begin);
    index.push_back(position);
  }
  return AffineMap::get(at.getNumDims(), 0, index, at.getContext());
}

AffineMap linearised(AffineMap map, ArrayRef<int64_t> shape) {
  MLIRContext *context = map.getContext();
  AffineExpr offset = getAffineConstantExpr(0, context);
  for (auto [position, extent] : llvm::zip(map.getResults(), shape))
    offset = offset * extent + position;
  return simplifyAffineMap(
      AffineMap::get(map.getNumDims(), 0, {offset}, context));
}

} // namespace gradus

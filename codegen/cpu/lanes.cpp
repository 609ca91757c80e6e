// Vectors start at multiples of their lanes. So a division by a divisor of the
// lanes behaves alike in every vector.

#include "codegen/cpu/lanes.h"

using namespace gradus;
using namespace llvm;
using mlir::AffineBinaryOpExpr;
using mlir::AffineConstantExpr;
using mlir::AffineExprKind;

/// Whether a number is a multiple of `by` in lane 0 of every vector along
/// `dim`, and grows by one per lane.
static bool countsFromMultiple(const Nest &nest, const Linear &number,
                               unsigned dim, int64_t by) {
  bool multiple = number.terms.empty() && number.strides[dim] == 1 &&
                  number.offset % by == 0;
  for (unsigned other = 0; other < nest.dims(); ++other)
    multiple &= other == dim || number.strides[other] % by == 0;
  return multiple;
}

/// The divisor if the dimension occurs only once, as (position ...) floordiv
/// by.
static int64_t repeats(const Nest &nest, const Access &access, unsigned dim,
                       unsigned lanes) {
  int64_t by = 0;
  for (auto &[expression, scale] : access.place.terms) {
    if (!expression.isFunctionOfDim(dim))
      continue;
    auto both = cast<AffineBinaryOpExpr>(expression);
    auto divisor = dyn_cast<AffineConstantExpr>(both.getRHS());
    if (by || scale != 1 || both.getKind() != AffineExprKind::FloorDiv ||
        !divisor)
      return 0;
    by = divisor.getValue();
    if (lanes % by != 0 ||
        !countsFromMultiple(nest, flatten(both.getLHS(), nest.dims()), dim, by))
      return 0;
  }
  return by;
}

LaneStep gradus::laneStep(const Nest &nest, const Access &access, unsigned dim,
                          unsigned lanes) {
  if (!access.dependsOn(dim))
    return {LaneStep::same};
  int64_t stride = access.place.strides[dim];
  if (stride == 1 && !access.place.isIrregularIn(dim))
    return {LaneStep::next};
  if (access.isGuardedBy(dim))
    return {LaneStep::scattered};
  if (!access.place.isIrregularIn(dim))
    return stride >= 2 && stride <= 4 ? LaneStep{LaneStep::strided, stride}
                                      : LaneStep{LaneStep::scattered};
  bool aligned = stride == 0 && int(dim) != nest.itemDim;
  int64_t by = aligned ? repeats(nest, access, dim, lanes) : 0;
  return by ? LaneStep{LaneStep::repeated, by} : LaneStep{LaneStep::scattered};
}

int gradus::transposedDim(const Nest &nest, const Access &access, unsigned dim,
                          unsigned lanes) {
  if (nest.hasReduction() || !access.guard.empty() ||
      access.place.isIrregularIn(dim) || access.place.strides[dim] <= 4)
    return -1;
  for (unsigned other = 0; other < nest.dims(); ++other)
    if (other != dim && int(other) != nest.itemDim && !nest.isLoop(other) &&
        access.hasStride(other, 1) && nest.extents[other] >= int64_t(lanes))
      return int(other);
  return -1;
}

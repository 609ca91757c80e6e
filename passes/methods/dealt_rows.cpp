// Rows that ranks share out; see dealt_rows.h.

#include "passes/methods/dealt_rows.h"

#include "passes/distribution/own_values.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace gradus {

int64_t DealtRows::ofRank() const { return llvm::divideCeil(count, ranks); }

void DealtRows::deal(StateOp rows) const {
  auto whole = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(whole.getShape());
  shape.front() = ofRank();
  rows->setAttr(kPartOf, TypeAttr::get(whole));
  rows.setType(whole.clone(shape));
  markOwn(rows);
}

Value DealtRows::ofAll(const Arithmetic &math, Value own, Value rank) const {
  Value placed = reshape(math.builder, math.loc,
                         rowOfRank(math, own, ranks, rank), {ranks * ofRank()});
  if (ranks * ofRank() != count)
    placed = math.make<SliceOp>(tensorType(own).clone({count}), placed,
                                ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
  return sumOverRanks(math.builder, math.loc, placed);
}

Value DealtRows::ofOwn(const Arithmetic &math, Value all, Value rank) const {
  RankedTensorType type = tensorType(all);
  int64_t padding = ranks * ofRank() - count;
  if (padding) {
    Value zeros = splat(math.builder, math.loc, type.clone({padding}), 0);
    all = ConcatenateOp::create(math.builder, math.loc,
                                type.clone({ranks * ofRank()}),
                                ValueRange{all, zeros}, /*axis=*/0);
  }
  Value parts = reshape(math.builder, math.loc, all, {ranks, ofRank()});
  Value index = broadcastScalar(math.builder, math.loc, rank, {1});
  Value part =
      GatherOp::create(math.builder, math.loc, type.clone({1, ofRank()}), parts,
                       index, /*axis=*/0);
  return reshape(math.builder, math.loc, part, {ofRank()});
}

} // namespace gradus

// The geometry of all ops that slide a window over 1-3 spatial dimensions;
// verifiers, the evaluator and code generation share it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace gradus {

struct Window {
  llvm::ArrayRef<int64_t> size, strides, padsBegin, padsEnd, dilations;

  int64_t rank() const { return size.size(); }

  /// The distance that the window covers along dimension `d`.
  int64_t reach(int64_t d) const { return dilations[d] * (size[d] - 1) + 1; }

  /// The number of windows that fit along dimension `d`; 0 or less if none
  /// does.
  int64_t outputSize(int64_t d, int64_t inputSize) const {
    int64_t room = inputSize + padsBegin[d] + padsEnd[d] - reach(d);
    return room < 0 ? 0 : room / strides[d] + 1;
  }

  /// The index in the input of element `tap` of the window at `output`; an
  /// index outside of the input is in the padding.
  int64_t inputIndex(int64_t d, int64_t output, int64_t tap) const {
    return output * strides[d] + tap * dilations[d] - padsBegin[d];
  }
};

/// The window of a convolution, of which the op does not store the size, or of
/// a pooling op.
template <typename Op> Window windowOf(Op op, llvm::ArrayRef<int64_t> size) {
  return {size, op.getStrides(), op.getPadsBegin(), op.getPadsEnd(),
          op.getDilations()};
}
template <typename PoolingOp> Window windowOf(PoolingOp op) {
  return windowOf(op, op.getWindow());
}

/// The max pool that found the elements to which a gradient goes; null if it is
/// not known, or of another window: then indices may name elements that are not
/// there.
template <typename Pool, typename Backward> Pool poolOf(Backward op) {
  auto pool = op.getIndices().template getDefiningOp<Pool>();
  return pool && op->getAttrDictionary() == pool->getAttrDictionary() &&
                 op.getType() == pool.getInput().getType()
             ? pool
             : Pool();
}

} // namespace gradus

// What a nest costs and what it may be copied for: the figures that fusion,
// kernel forming and library selection decide by.
#pragma once

#include "codegen/nest.h"

namespace gradus {

/// Work of a region for one point: operations that count as one flop (an add),
/// and an estimate of time in which exp, tanh, division count for what they
/// take.
struct RegionCost {
  int64_t flops = 0;
  int64_t work = 0;
};
RegionCost costOf(mlir::Region &region);

/// Flops and work of the whole nest; combining counts as one.
RegionCost costOf(plan::NestOp nest);

/// Bytes that the nest reads and writes if each element moves once.
int64_t bytesOf(plan::NestOp nest);
int64_t bytesOf(mlir::Type type);

/// Whether a region only hands on what it reads, or indices and constants.
bool isMove(plan::NestOp nest);

/// Whether a region is so little work that doing it twice is better than a
/// trip through memory.
bool isCheap(plan::NestOp nest);

/// Whether an elementwise nest reads no more bytes than it writes, of inputs
/// with an element for each point: whoever keeps the one needs not the other.
bool readsNoMore(plan::NestOp nest);

/// Whether elements of an input are read at many points of the nest: a matrix
/// product, a convolution.
bool isContraction(plan::NestOp nest);

} // namespace gradus

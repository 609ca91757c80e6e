// Estimates the cost of nests, on which fusion, kernel forming and library
// selection base their decisions.
#pragma once

#include "codegen/plan/nest.h"

namespace gradus {

/// The work of a region for one point: its flops, where each operation counts
/// as one, and an estimate of its time in additions, where exp, tanh and
/// division count for more.
struct RegionCost {
  int64_t flops = 0;
  int64_t work = 0;
};
RegionCost costOf(mlir::Region &region);

/// Flops and work of the whole nest; combining a value counts as one.
RegionCost costOf(plan::NestOp nest);

/// Bytes that the nest reads and writes if each element moves once.
int64_t bytesOf(plan::NestOp nest);
int64_t bytesOf(mlir::Type type);

/// Whether a nest only yields what it reads, or indices and constants.
bool isMove(plan::NestOp nest);

/// Whether a region has so little work that it is better to repeat it than to
/// store its results.
bool isCheap(plan::NestOp nest);

/// Whether an elementwise nest reads no more bytes than it writes, from inputs
/// with one element per point: if those are kept in memory, the result need not
/// be.
bool readsNoMore(plan::NestOp nest);

/// Whether input elements are read at many points of the nest, as in a matmul
/// or a convolution.
bool isContraction(plan::NestOp nest);

} // namespace gradus

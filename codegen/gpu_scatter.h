// Sums of slices at indices on a GPU (`plan.add_at`): a block owns up to 256
// slices of the table and finds what is added to them.
//
// A block goes through the indices, 8 a thread at a time (2,048, where it has
// 256), and keeps the places of those that name a slice of its own, in their
// order. Once it has more than so many of them, or has seen all indices, it
// sorts them by slice; then its threads write all of its slices, a vector of
// 128 bits each, summing what each list says in the order of the indices. So
// every element is read and written once, and a block reads the indices
// besides: work grows with the bytes of the table and with blocks x indices,
// and not with elements x indices. If a few wide slices have long lists, the
// threads of a block share each list, and every thread sums a part of it.
#pragma once

#include "codegen/gpu_indexing.h"

namespace gradus {

struct ScatterMapping {
  int64_t slices = 1;  // of a block, at most 256
  int64_t groups = 1;  // blocks that share a row of the table
  int64_t threads = 1; // of a block: whole warps
  int64_t parts = 1;   // of a list that threads sort; a power of two
  /// Whether slice s is of group s % groups, so that frequent indices, which
  /// are often neighbours, are of several blocks; else of group s / slices.
  bool isInterleaved = false;
  int64_t vector = 1; // elements that a thread takes at once
  /// The blocks that share the slices of a group, the vectors that each has of
  /// a slice, and the threads that share the list of one.
  int64_t strips = 1, columns = 1, lanes = 1;

  /// Indices that a thread looks at one after the other.
  static constexpr int64_t kEach = 8;
  /// The indices that a block reads before it checks whether its list is full,
  /// and the most hits that the list holds then.
  int64_t atOnce() const { return kEach * threads; }
  int64_t mostListed() const { return 2 * atOnce(); }
};

/// None where there are so few indices that each thread looks at all of them
/// for the vector that it writes.
std::optional<ScatterMapping> mapScatter(const GatherSizes &sizes,
                                         mlir::Type element,
                                         const GpuModel &gpu = {});

/// Estimates what all threads execute, whether blocks share the work or not.
uint64_t scatterOperations(const GatherSizes &sizes, mlir::Type element,
                           const GpuModel &gpu);

/// One strip of a group of slices of a row of the table, in the order of
/// strips, groups and rows, by a whole block.
void emitScatter(GpuBuilder &builder, const ScatterMapping &mapping,
                 const IndexedBuffers &buffers, mlir::Value item,
                 mlir::gpu::GPUFuncOp function, const GpuThread &thread);

} // namespace gradus

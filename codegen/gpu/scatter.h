// Sums slices at indices on a GPU (`plan.add_at`): a block owns up to 256
// slices of the table and searches the indices for slices to add to them.
//
// A block scans the indices, 8 per thread at a time (2,048 with 256 threads),
// and lists in order those that name one of its slices. When the list is long
// enough, or all indices were scanned, it sorts the list by slice; then its
// threads update all of its slices, a vector of 128 bits each, summing in the
// order of the indices. So every element is read and written once, and each
// block also reads the indices: work grows with the bytes of the table and with
// blocks x indices, not with elements x indices. If a few wide slices have long
// lists, the threads of a block share each list, and each of them sums a part
// of it.
#pragma once

#include "codegen/gpu/indexing.h"

namespace gradus {

struct ScatterMapping {
  int64_t slices = 1;  // of a block, at most 256
  int64_t groups = 1;  // blocks that share a row of the table
  int64_t threads = 1; // of a block: whole warps
  int64_t parts = 1;   // parts of a list, each sorted by a thread; 2^n
  /// Whether slice s belongs to group s % groups, which spreads frequent
  /// indices, often neighbours, over several blocks; otherwise to group s /
  /// slices.
  bool isInterleaved = false;
  int64_t vector = 1; // elements that a thread processes at once
  /// The blocks that share the slices of a group, the vectors of a slice that
  /// each block has, and the threads that share the list of a slice.
  int64_t strips = 1, columns = 1, lanes = 1;

  /// The indices that a thread scans one after another.
  static constexpr int64_t kEach = 8;
  /// The indices that a block scans before it checks whether its list is full,
  /// and the maximum length of the list at that time.
  int64_t atOnce() const { return kEach * threads; }
  int64_t mostListed() const { return 2 * atOnce(); }
};

/// Returns nothing if there are so few indices that each thread may scan them
/// all for the vector that it writes.
std::optional<ScatterMapping> mapScatter(const GatherSizes &sizes,
                                         mlir::Type element,
                                         const GpuModel &gpu = {});

/// Estimates what all threads execute, whether blocks share the work or not.
uint64_t scatterOperations(const GatherSizes &sizes, mlir::Type element,
                           const GpuModel &gpu);

/// Emits one item of a whole block: a strip of a group of slices of a row of
/// the table, numbered by strips, groups and rows.
void emitScatter(GpuBuilder &builder, const ScatterMapping &mapping,
                 const IndexedBuffers &buffers, mlir::Value item,
                 mlir::gpu::GPUFuncOp function, const GpuThread &thread);

} // namespace gradus

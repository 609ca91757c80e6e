// Estimates the bytes that commands move to and from memory: each byte of a
// buffer counts once when it is read and once when it is written. Expected
// times and rates are computed from it.
#pragma once

#include "codegen/gpu/model.h"
#include "codegen/plan/plan.h"

#include <optional>
#include <vector>

namespace gradus {

/// The bytes that the nests of a kernel read of an argument: with reads that
/// repeat an earlier nest's (`all`, for each nest), and without (`once`).
struct ArgumentReads {
  uint64_t once = 0;
  llvm::SmallVector<uint64_t> all;
  bool isKnown = true; // otherwise all of the argument is read
};

/// The bytes of launches, on a GPU if there is a model of one. A GPU's caches
/// hold less for each of its many blocks than a processor's for each core:
/// where the rows that blocks work on do not fit, each nest that reads a row
/// counts there.
class LaunchTraffic {
public:
  /// `gpu` must outlive this.
  explicit LaunchTraffic(const std::optional<GpuModel> &gpu) : gpu_(gpu) {}

  uint64_t of(plan::LaunchOp launch, plan::KernelOp kernel);

private:
  uint64_t readOf(plan::KernelOp kernel, unsigned argument, uint64_t whole);

  const std::optional<GpuModel> &gpu_;
  /// The reads of each kernel's arguments: launches share kernels, so they are
  /// found once.
  llvm::DenseMap<mlir::Operation *, std::vector<ArgumentReads>> known_;
};

uint64_t trafficOf(plan::LibraryOp library);

} // namespace gradus

// The memory of a plan on a GPU: its regions, and what its steps need besides,
// a block each.
#pragma once

#include "runtime/cuda/step_nodes.h"

namespace gradus::runtime::cuda {

class PlanMemory {
public:
  /// Allocates the blocks, with undefined contents, once it is known that they
  /// fit beside `inputs` bytes, which another allocates.
  static StatusOr<PlanMemory> allocate(const Card &card,
                                       const Artifact &artifact,
                                       const artifact::Plan &plan,
                                       const StepExtras &extras, size_t inputs);

  /// Returns the addresses of the blocks; that of no bytes is 0.
  StepMemory addresses() const;
  DevicePointer startOf(artifact::Region region) const;
  /// The bytes besides the plan's own.
  size_t extraBytes() const { return extraBytes_; }

  /// Zeros the state and the arena, and sends the constants.
  Status clear(const Card &card, const Artifact &artifact,
               const artifact::Plan &plan, Stream stream) const;

private:
  Owned<DevicePointer> state_, arena_, constants_, scratch_, tables_;
  Owned<DevicePointer> libraryScratch_, ones_, product_;
  size_t extraBytes_ = 0;
};

} // namespace gradus::runtime::cuda

// The memory of the emulated GPU, and pinned memory: current and freed
// allocations, and which bytes were written.
#pragma once

#include "runtime/cuda/driver/driver.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct FakeAllocation {
  size_t bytes = 0;
  bool pinned = false;
  bool freed = false;
  std::vector<uint8_t> written; // one per byte

  /// "the allocation of 64 bytes"
  std::string name() const;
};

class FakeMemory {
public:
  FakeMemory() = default;
  FakeMemory(const FakeMemory &) = delete;
  ~FakeMemory();

  /// Allocates memory between guard pages, filled with NaNs; 0 if the system
  /// has none.
  DevicePointer allocate(size_t bytes, bool pinned);
  /// Frees memory: it becomes inaccessible, and its addresses are not reused.
  /// False if there is no such allocation.
  bool free(DevicePointer start, bool pinned);

  /// Describes the error of accessing these bytes, or returns nothing: "lies in
  /// the allocation of 64 bytes that was freed".
  std::string outside(DevicePointer start, uint64_t bytes) const;
  bool isPinned(DevicePointer start) const;

  void noteWritten(DevicePointer start, uint64_t bytes);
  void forget(DevicePointer start, uint64_t bytes);
  /// Whether all of these bytes were written, and not forgotten since.
  bool isWritten(DevicePointer start, uint64_t bytes) const;
  /// The flags of the bytes from `start` to the end of its allocation: whether
  /// each was written.
  uint8_t *flags(DevicePointer start);

  /// The allocated bytes of the GPU, and the list of allocations.
  size_t used() const { return used_; }
  std::map<DevicePointer, FakeAllocation> &allocations() {
    return allocations_;
  }

private:
  using Entry = std::pair<const DevicePointer, FakeAllocation>;
  const Entry *find(DevicePointer address) const;

  std::map<DevicePointer, FakeAllocation> allocations_; // freed ones too
  size_t used_ = 0;
};

} // namespace gradus::runtime::cuda

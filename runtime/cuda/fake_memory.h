// The memory of the emulated card, and pinned memory: what is allocated, what
// was, and which bytes of it hold something.
#pragma once

#include "runtime/cuda/driver.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct FakeAllocation {
  size_t bytes = 0;
  bool pinned = false;
  bool freed = false;
  std::vector<uint8_t> written; // one a byte

  /// "the allocation of 64 bytes"
  std::string name() const;
};

class FakeMemory {
public:
  FakeMemory() = default;
  FakeMemory(const FakeMemory &) = delete;
  ~FakeMemory();

  /// Between pages that cannot be touched, full of NaNs; 0 if the system has
  /// none.
  DevicePointer allocate(size_t bytes, bool pinned);
  /// From now on it cannot be touched, and its addresses are not used again.
  /// False if there is no such allocation.
  bool free(DevicePointer start, bool pinned);

  /// What is wrong with using these bytes, or nothing: "lies in the allocation
  /// of 64 bytes that was freed".
  std::string outside(DevicePointer start, uint64_t bytes) const;
  bool isPinned(DevicePointer start) const;

  void noteWritten(DevicePointer start, uint64_t bytes);
  void forget(DevicePointer start, uint64_t bytes);
  /// Whether all of these bytes were written, and not forgotten since.
  bool isWritten(DevicePointer start, uint64_t bytes) const;
  /// One for each byte from there to the end of its allocation: whether it is
  /// written.
  uint8_t *flags(DevicePointer start);

  /// Bytes of the card, and what is not given back.
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

// What a device holds, as the host sees it: the device's memory itself where
// that is the host's, else copies that are made when they are asked for.

#pragma once

#include "runtime/device.h"
#include "runtime/memory.h"

#include <vector>

namespace gradus::runtime {

/// The bytes of one place at a time.
class HostView {
public:
  /// The device must outlive this.
  explicit HostView(DevicePlan &device) : device_(device) {}

  /// Valid until the next call and the next step.
  StatusOr<std::span<const uint8_t>> bytes(artifact::Region region,
                                           uint64_t offset, size_t size);
  /// Of a buffer, as much as its type says.
  StatusOr<std::span<const uint8_t>> bytes(const artifact::Buffer &buffer);

private:
  DevicePlan &device_;
  std::vector<uint8_t> copy_;
};

/// All states. A copy is made at most once between two steps, of what is asked
/// for alone; the next step gives back what many bytes of them took.
class HostStates {
public:
  HostStates(DevicePlan &device, const artifact::Header &header,
             const artifact::Plan &plan);

  /// Valid until forget(), and a write to that state.
  StatusOr<std::span<const uint8_t>> bytes(size_t state);
  /// All bytes of a state.
  Status write(size_t state, std::span<const uint8_t> from);
  /// States may have changed: by a step, or by what wrote them elsewhere.
  void forget();
  /// Memory of the host that copies take now.
  size_t copiedBytes() const { return copiedBytes_; }

private:
  struct State {
    uint64_t offset;
    size_t bytes;
    uint64_t copiedAt = 0; // an age; 0: never
    bool takesMemory = false;
  };

  DevicePlan &device_;
  std::vector<State> states_;
  const uint8_t *direct_; // null: copies are needed
  size_t regionBytes_;
  MemoryBlock copies_; // as large as the region: takes what is written to it
  size_t copiedBytes_ = 0;
  uint64_t age_ = 1;
};

} // namespace gradus::runtime

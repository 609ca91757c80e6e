// The memory of a device as the host reads it: directly if it is the host's
// memory, else through copies that are made on demand.

#pragma once

#include "runtime/device/device.h"
#include "runtime/memory.h"

#include <memory>
#include <optional>
#include <vector>

namespace gradus::runtime {

/// Reads one range of a device's memory at a time.
class HostView {
public:
  /// The device must outlive this.
  explicit HostView(DevicePlan &device) : device_(device) {}

  /// Valid until the next call and the next step.
  StatusOr<std::span<const uint8_t>> bytes(artifact::Region region,
                                           uint64_t offset, size_t size);
  /// The bytes of a buffer, as many as its type has.
  StatusOr<std::span<const uint8_t>> bytes(const artifact::Buffer &buffer);

private:
  DevicePlan &device_;
  std::vector<uint8_t> copy_;
};

/// The values of all states. Only states that are asked for are copied, at most
/// once between two steps; the next step releases large copies.
class HostStates {
public:
  HostStates(DevicePlan &device, const artifact::Header &header,
             const artifact::Plan &plan);

  /// The bytes of a state, valid until forget() or a write to that state.
  StatusOr<std::span<const uint8_t>> bytes(size_t state);
  /// The hash of the bytes of a state that never changes, computed once; or
  /// that of the whole of which the state is a rank's part, which is set.
  StatusOr<uint64_t> fixedHash(size_t state);
  void setFixedHash(size_t state, uint64_t hash) {
    states_[state].fixedHash = hash;
  }
  /// Writes all bytes of a state.
  Status write(size_t state, std::span<const uint8_t> from);
  /// The bytes of a state for the host to write: the device's own or, where the
  /// host cannot reach those, a copy that is made anew. Their address stays the
  /// same.
  StatusOr<std::span<uint8_t>> lend(size_t state);
  /// Takes what was written to lent bytes; fails if they were not lent.
  Status takeBack(size_t state);
  /// Called when states may have changed: by a step, or by a write elsewhere.
  void forget();
  /// The host memory that copies use now.
  size_t copiedBytes() const { return copiedBytes_; }

private:
  struct State {
    uint64_t offset;
    size_t bytes;
    uint64_t copiedAt = 0; // an age; 0: never
    bool takesMemory = false;
    std::optional<uint64_t> fixedHash = {}; // asked for before, or set
    std::unique_ptr<uint8_t[]> lent = {};   // null: never, or the device's own
  };

  DevicePlan &device_;
  std::vector<State> states_;
  const uint8_t *direct_; // null: copies are needed
  size_t regionBytes_;
  MemoryBlock copies_; // as large as the region; memory only where written
  size_t copiedBytes_ = 0;
  uint64_t age_ = 1;
};

} // namespace gradus::runtime

// Uploads inputs to the GPU while the previous step still runs.
//
// The host fills one of two pinned slots; an upload copies it to one block of
// GPU memory, on a stream of its own. A step first copies its inputs from
// there, then records `taken`: from then on the next upload may run, parallel
// to the rest of the step. So a step is one graph whose addresses never change.
// One thread at a time.
#pragma once

#include "runtime/cuda/card.h"

namespace gradus::runtime::cuda {

/// Bytes on the GPU that are a part of the next inputs: behind the work that is
/// in `stream`.
struct InputOnCard {
  DevicePointer from = 0;
  size_t offset = 0, bytes = 0; // in the block
  Stream stream = nullptr;
};

class Staging {
public:
  /// Creates staging for inputs of so many bytes in total.
  static StatusOr<Staging> create(const Card &card, size_t bytes);

  /// The memory for the next inputs, until `upload`. Waits for the upload
  /// before last, which used the same slot.
  StatusOr<uint8_t *> slot();
  /// The same memory, without a wait.
  uint8_t *lastSlot() const {
    return static_cast<uint8_t *>(slots_[uploads_ % 2].memory.get());
  }
  /// Starts the upload of the slot once the steps so far have copied their
  /// inputs from the block; later work on `steps` waits for it. `onCard` is
  /// copied over what the slot has there, and has been read when this returns;
  /// without `hasHost` the slot has nothing to upload.
  Status upload(Stream steps, std::span<const InputOnCard> onCard = {},
                bool hasHost = true);

  /// Waits for started uploads; needed if the rest of an upload failed, since
  /// no step then waits for it.
  Status wait() const;

  /// The block from which a step copies its inputs.
  DevicePointer onCard() const { return onCard_.get(); }
  /// The event that a step records after all reads of the block.
  Event taken() const { return taken_.get(); }
  size_t bytes() const { return bytes_; }

private:
  struct Slot {
    Owned<void *> memory;
    Owned<Event> uploaded;
  };
  explicit Staging(const Card &card) : card_(&card) {}
  Status move(const Slot &slot, Stream steps,
              std::span<const InputOnCard> onCard, bool hasHost);
  Status copy(const InputOnCard &input) const;

  const Card *card_;
  size_t bytes_ = 0;
  Owned<DevicePointer> onCard_;
  Owned<Stream> stream_;
  Owned<Event> taken_, made_; // made_: of inputs that are on the GPU
  Slot slots_[2];
  size_t uploads_ = 0;
};

} // namespace gradus::runtime::cuda

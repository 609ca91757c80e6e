// Inputs on their way to the card, while the step before still runs.
//
// The host fills one of two pinned slots; an upload moves it into one block of
// the card's memory, on a stream of its own. A step begins by taking the inputs
// from there, and records `taken` when it has: from then on the next upload may
// run, beside the rest of the step. So steps are one graph whose addresses
// never change. One thread at a time.
#pragma once

#include "runtime/cuda/card.h"

namespace gradus::runtime::cuda {

class Staging {
public:
  /// For inputs of so many bytes in all.
  static StatusOr<Staging> create(const Card &card, size_t bytes);

  /// Where the next inputs go, until `upload`. Waits for the upload before
  /// last, which came from there.
  StatusOr<uint8_t *> slot();
  /// The same place, without a wait.
  uint8_t *lastSlot() const {
    return static_cast<uint8_t *>(slots_[uploads_ % 2].memory.get());
  }
  /// Begins to move the slot to the card, as soon as the steps begun so far
  /// have taken what lies there; has what `steps` does from here on wait for
  /// it.
  Status upload(Stream steps);

  /// Waits for what was begun to move: where the rest of an upload failed, no
  /// step does.
  Status wait() const;

  /// The block, from which a step takes its inputs.
  DevicePointer onCard() const { return onCard_.get(); }
  /// A step records it, behind all that reads the block.
  Event taken() const { return taken_.get(); }
  size_t bytes() const { return bytes_; }

private:
  struct Slot {
    Owned<void *> memory;
    Owned<Event> uploaded;
  };
  explicit Staging(const Card &card) : card_(&card) {}
  Status move(const Slot &slot, Stream steps);

  const Card *card_;
  size_t bytes_ = 0;
  Owned<DevicePointer> onCard_;
  Owned<Stream> stream_;
  Owned<Event> taken_;
  Slot slots_[2];
  size_t uploads_ = 0;
};

} // namespace gradus::runtime::cuda

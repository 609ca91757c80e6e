// Two events order everything: `uploaded` of each slot, before the step and
// before the host refills the slot; `taken`, before the next upload.

#include "runtime/cuda/staging.h"

namespace gradus::runtime::cuda {

StatusOr<Staging> Staging::create(const Card &card, size_t bytes) {
  Staging staging(card);
  staging.bytes_ = bytes;
  GRADUS_ASSIGN(staging.onCard_, card.allocate({"inputs", bytes}));
  GRADUS_ASSIGN(staging.stream_, card.createStream());
  GRADUS_ASSIGN(staging.taken_, card.createEvent(/*timed=*/false));
  for (Slot &slot : staging.slots_) {
    GRADUS_ASSIGN(slot.memory, card.allocatePinned({"inputs", bytes}));
    GRADUS_ASSIGN(slot.uploaded, card.createEvent(/*timed=*/false));
  }
  return staging;
}

StatusOr<uint8_t *> Staging::slot() {
  const Slot &slot = slots_[uploads_ % 2];
  const Driver &driver = card_->driver();
  if (uploads_ >= 2 && bytes_)
    GRADUS_TRY(check(driver, driver.eventSynchronize(slot.uploaded.get()),
                     "uploading inputs to " + card_->name()));
  return lastSlot();
}

Status Staging::upload(Stream steps) {
  const Slot &slot = slots_[uploads_ % 2];
  if (bytes_)
    GRADUS_TRY(move(slot, steps));
  ++uploads_;
  return Status();
}

Status Staging::move(const Slot &slot, Stream steps) {
  const Driver &driver = card_->driver();
  const std::string what = "uploading inputs to " + card_->name();
  if (uploads_)
    GRADUS_TRY(
        check(driver, driver.streamWait(stream_.get(), taken_.get(), 0), what));
  GRADUS_TRY(check(driver,
                   driver.copyToDevice(onCard_.get(), slot.memory.get(), bytes_,
                                       stream_.get()),
                   what));
  Event uploaded = slot.uploaded.get();
  GRADUS_TRY(check(driver, driver.eventRecord(uploaded, stream_.get()), what));
  return check(driver, driver.streamWait(steps, uploaded, 0), what);
}

Status Staging::wait() const {
  return check(card_->driver(),
               card_->driver().streamSynchronize(stream_.get()),
               "uploading inputs to " + card_->name());
}

} // namespace gradus::runtime::cuda

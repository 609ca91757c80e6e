// Two events order everything: `uploaded` of each slot, before the step and
// before the host refills the slot; `taken`, before the next upload. A third
// one puts the copy of an input that is on the GPU behind what makes it.

#include "runtime/cuda/staging.h"

namespace gradus::runtime::cuda {

StatusOr<Staging> Staging::create(const Card &card, size_t bytes) {
  Staging staging(card);
  staging.bytes_ = bytes;
  GRADUS_ASSIGN(staging.onCard_, card.allocate({"inputs", bytes}));
  GRADUS_ASSIGN(staging.stream_, card.createStream());
  GRADUS_ASSIGN(staging.taken_, card.createEvent(/*timed=*/false));
  GRADUS_ASSIGN(staging.made_, card.createEvent(/*timed=*/false));
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

Status Staging::upload(Stream steps, std::span<const InputOnCard> onCard,
                       bool hasHost) {
  const Slot &slot = slots_[uploads_ % 2];
  if (bytes_)
    GRADUS_TRY(move(slot, steps, onCard, hasHost));
  ++uploads_;
  return Status();
}

Status Staging::copy(const InputOnCard &input) const {
  const Driver &driver = card_->driver();
  const std::string what = "reading inputs on " + card_->name();
  GRADUS_TRY(
      check(driver, driver.eventRecord(made_.get(), input.stream), what));
  GRADUS_TRY(
      check(driver, driver.streamWait(stream_.get(), made_.get(), 0), what));
  return check(driver,
               driver.copyOnDevice(onCard_.get() + input.offset, input.from,
                                   input.bytes, stream_.get()),
               what);
}

Status Staging::move(const Slot &slot, Stream steps,
                     std::span<const InputOnCard> onCard, bool hasHost) {
  const Driver &driver = card_->driver();
  const std::string what = "uploading inputs to " + card_->name();
  if (uploads_)
    GRADUS_TRY(
        check(driver, driver.streamWait(stream_.get(), taken_.get(), 0), what));
  if (hasHost)
    GRADUS_TRY(check(driver,
                     driver.copyToDevice(onCard_.get(), slot.memory.get(),
                                         bytes_, stream_.get()),
                     what));
  for (const InputOnCard &input : onCard)
    GRADUS_TRY(copy(input));
  Event uploaded = slot.uploaded.get();
  GRADUS_TRY(check(driver, driver.eventRecord(uploaded, stream_.get()), what));
  GRADUS_TRY(check(driver, driver.streamWait(steps, uploaded, 0), what));
  // The call returns once they are read, so that their owner may write to them.
  return onCard.empty() ? Status()
                        : check(driver, driver.eventSynchronize(uploaded),
                                "reading inputs on " + card_->name());
}

Status Staging::wait() const {
  return check(card_->driver(),
               card_->driver().streamSynchronize(stream_.get()),
               "uploading inputs to " + card_->name());
}

} // namespace gradus::runtime::cuda

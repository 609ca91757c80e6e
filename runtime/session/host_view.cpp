// Copies from devices whose memory the host cannot read.

#include "runtime/session/host_view.h"

#include "runtime/artifact_hash.h"
#include "runtime/flat.h"

#include <algorithm>
#include <new>
#include <utility>

namespace gradus::runtime {

using artifact::Region;

StatusOr<std::span<const uint8_t>>
HostView::bytes(Region region, uint64_t offset, size_t size) {
  if (size == 0)
    return std::span<const uint8_t>();
  if (const uint8_t *start = device_.memory(region))
    return std::span(start + offset, size);
  copy_.resize(size);
  GRADUS_TRY(device_.read(region, offset, copy_));
  return std::span<const uint8_t>(copy_);
}

StatusOr<std::span<const uint8_t>>
HostView::bytes(const artifact::Buffer &buffer) {
  size_t size = *bytesOf(typeOf(buffer.type()));
  return bytes(buffer.region(), device_.offsetOf(buffer),
               std::min<size_t>(size, buffer.size()));
}

HostStates::HostStates(DevicePlan &device, const artifact::Header &header,
                       const artifact::Plan &plan)
    : device_(device), direct_(device.memory(Region::state)),
      regionBytes_(plan.state_bytes()) {
  for (size_t i = 0; i < countOf(header.states()); ++i)
    states_.push_back({plan.state_offsets()->Get(i),
                       *bytesOf(typeOf(header.states()->Get(i)->type()))});
}

StatusOr<std::span<const uint8_t>> HostStates::bytes(size_t state) {
  State &wanted = states_[state];
  if (wanted.bytes == 0)
    return std::span<const uint8_t>();
  if (direct_)
    return std::span(direct_ + wanted.offset, wanted.bytes);
  if (!copies_.data()) {
    GRADUS_ASSIGN(copies_,
                  MemoryBlock::allocate(regionBytes_, "copies of states"));
  }
  std::span copy(copies_.data() + wanted.offset, wanted.bytes);
  if (wanted.copiedAt != age_)
    GRADUS_TRY(device_.read(Region::state, wanted.offset, copy));
  wanted.copiedAt = age_;
  if (!std::exchange(wanted.takesMemory, true))
    copiedBytes_ += wanted.bytes;
  return std::span<const uint8_t>(copy);
}

StatusOr<uint64_t> HostStates::fixedHash(size_t state) {
  std::optional<uint64_t> &hash = states_[state].fixedHash;
  if (!hash) {
    GRADUS_ASSIGN(std::span<const uint8_t> all, bytes(state));
    hash = artifact::hashBytes(all.data(), all.size());
  }
  return *hash;
}

StatusOr<std::span<uint8_t>> HostStates::lend(size_t state) {
  State &wanted = states_[state];
  if (direct_) // The session's own memory, which is not constant.
    return std::span(const_cast<uint8_t *>(direct_) + wanted.offset,
                     wanted.bytes);
  if (!wanted.lent)
    wanted.lent.reset(new (std::nothrow) uint8_t[wanted.bytes]);
  if (!wanted.lent)
    return failed("cannot allocate ", wanted.bytes,
                  " bytes for a copy of a state");
  std::span copy(wanted.lent.get(), wanted.bytes);
  if (!copy.empty())
    GRADUS_TRY(device_.read(Region::state, wanted.offset, copy));
  return copy;
}

Status HostStates::takeBack(size_t state) {
  State &changed = states_[state];
  if (direct_)
    return Status();
  if (!changed.lent)
    return invalid("its data were not asked for, so nothing can have been "
                   "written there");
  return write(state, std::span(changed.lent.get(), changed.bytes));
}

/// Counters are read at each step, all weights only now and then.
void HostStates::forget() {
  constexpr size_t kKept = 1 << 20;
  ++age_;
  if (copiedBytes_ <= kKept)
    return;
  copies_ = MemoryBlock();
  copiedBytes_ = 0;
  for (State &state : states_)
    state.takesMemory = false;
}

Status HostStates::write(size_t state, std::span<const uint8_t> from) {
  states_[state].copiedAt = 0;
  return device_.write(Region::state, states_[state].offset, from);
}

} // namespace gradus::runtime

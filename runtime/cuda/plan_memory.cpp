// Blocks of a plan, allocated one after the other; see plan_memory.h.

#include "runtime/cuda/plan_memory.h"

namespace gradus::runtime::cuda {

using artifact::Region;

StatusOr<PlanMemory> PlanMemory::allocate(const Card &card,
                                          const Artifact &artifact,
                                          const artifact::Plan &plan,
                                          const StepExtras &extras,
                                          size_t inputs) {
  size_t constants = artifact.bytes(artifact.header().constants()).size();
  Need needs[] = {{"state", plan.state_bytes()},
                  {"arena", plan.arena_bytes()},
                  {"constants", constants},
                  {"scratch", extras.scratchBytes},
                  {"tables", extras.tableBytes},
                  {"library scratch", extras.libraryBytes},
                  {"ones", extras.onesBytes},
                  {"products", extras.productBytes},
                  {"inputs", inputs}};
  GRADUS_TRY(card.checkFits(needs));
  PlanMemory memory;
  Owned<DevicePointer> *blocks[] = {&memory.state_,     &memory.arena_,
                                    &memory.constants_, &memory.scratch_,
                                    &memory.tables_,    &memory.libraryScratch_,
                                    &memory.ones_,      &memory.product_};
  for (size_t i = 0; i < std::size(blocks); ++i) {
    GRADUS_ASSIGN(*blocks[i], card.allocate(needs[i]));
  }
  memory.extraBytes_ = extras.scratchBytes + extras.tableBytes +
                       extras.libraryBytes + extras.onesBytes +
                       extras.productBytes + inputs;
  return memory;
}

StepMemory PlanMemory::addresses() const {
  return {state_.get(),   arena_.get(),  constants_.get(),
          scratch_.get(), tables_.get(), libraryScratch_.get(),
          ones_.get(),    product_.get()};
}

DevicePointer PlanMemory::startOf(Region region) const {
  return region == Region::state   ? state_.get()
         : region == Region::arena ? arena_.get()
                                   : constants_.get();
}

Status PlanMemory::clear(const Card &card, const Artifact &artifact,
                         const artifact::Plan &plan, Stream stream) const {
  const Driver &driver = card.driver();
  std::pair<DevicePointer, size_t> blocks[] = {
      {state_.get(), plan.state_bytes()}, {arena_.get(), plan.arena_bytes()}};
  for (auto [start, bytes] : blocks)
    if (bytes)
      GRADUS_TRY(check(driver, driver.fill(start, 0, bytes, stream),
                       "clearing memory"));
  auto constants = artifact.bytes(artifact.header().constants());
  if (!constants.empty())
    GRADUS_TRY(check(driver,
                     driver.copyToDevice(constants_.get(), constants.data(),
                                         constants.size(), stream),
                     "sending constants"));
  return check(driver, driver.streamSynchronize(stream), "sending constants");
}

} // namespace gradus::runtime::cuda

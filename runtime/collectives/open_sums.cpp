// A queue of sums; after the first step it has its final size.

#include "runtime/collectives/open_sums.h"

namespace gradus::runtime {

void OpenSums::begin(std::span<const Collective> sums) {
  for (const Collective &sum : sums)
    numbers_.push_back(collectives_->begin(sum));
  ends_.push_back(numbers_.size());
}

Status OpenSums::finish() {
  if (waitedFor_ == ends_.size())
    return failed("no sum over ranks has begun");
  size_t from = waitedFor_ ? ends_[waitedFor_ - 1] : 0;
  for (size_t i = from; i < ends_[waitedFor_]; ++i)
    GRADUS_TRY(collectives_->finish(numbers_[i]));
  if (++waitedFor_ == ends_.size()) {
    numbers_.clear();
    ends_.clear();
    waitedFor_ = 0;
  }
  return Status();
}

void OpenSums::giveUp(const Status &failure) {
  if (ends_.empty())
    return;
  areGivenUp_ = true;
  (void)collectives_->fail(failure); // It returns what failed first.
}

void OpenSums::keep(std::shared_ptr<const void> memory) {
  if (areGivenUp_)
    collectives_->keep(std::move(memory));
}

} // namespace gradus::runtime

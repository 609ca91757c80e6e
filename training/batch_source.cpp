// A caller's batches come one by one, so that each is asked for when the one
// before has been used.

#include "training/batch_source.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::training {

int64_t FeedBatches::perEpoch() const {
  return data::Batches::perEpoch(feed_, /*shuffle=*/true, deal_);
}

Status FeedBatches::begin(int64_t first, int64_t end) {
  batches_ = std::make_unique<data::Batches>(
      feed_, data::BatchOptions{.shuffle = true,
                                .seed = seed_,
                                .deal = deal_,
                                .first = first,
                                .end = end,
                                .threads = threads_});
  return {};
}

StatusOr<const data::Chunk *> FeedBatches::next() {
  if (doing_)
    doing_("waits for its data");
  const data::Chunk *chunk = batches_ ? batches_->next() : nullptr;
  if (doing_)
    doing_("computes");
  if (!chunk && batches_)
    GRADUS_TRY(batches_->status());
  return chunk;
}

Status CallerBatches::begin(int64_t first, int64_t end) {
  position_ = first;
  end_ = end;
  return {};
}

StatusOr<const data::Chunk *> CallerBatches::next() {
  if (position_ >= end_)
    return nullptr;
  std::ranges::fill(inputs_, nullptr);
  size_t expected = inputs_.size();
  bool isThere = false;
  GRADUS_ASSIGN(isThere, next_(position_, inputs_));
  if (!isThere)
    return nullptr;
  if (inputs_.size() != expected || std::ranges::count(inputs_, nullptr))
    return invalid("batch ", position_, ": has ",
                   std::ssize(inputs_) - std::ranges::count(inputs_, nullptr),
                   " inputs, expected ", expected);
  chunk_ = {position_++, 1, inputs_, 0};
  return &chunk_;
}

} // namespace gradus::training

// A ring of three slots: one in use, one ready, one being filled.

#include "frontends/data/batches.h"

#include "frontends/caught.h"
#include "frontends/data/shuffle.h"
#include "runtime/status.h"

#include <algorithm>
#include <system_error>

using gradus::runtime::failed;

namespace gradus::data {

static constexpr size_t kAlignment = 64;

static size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

static size_t batchBytes(const Feed &feed) {
  size_t bytes = 0;
  for (size_t i = 0; i < feed.inputCount(); ++i)
    bytes += aligned(feed.bytesOf(i));
  return bytes;
}

int64_t Batches::perEpoch(const Feed &feed, bool shuffle) {
  bool whole = shuffle && !feed.masksLastBatch();
  int64_t padded = whole ? 0 : feed.batch() - 1;
  return (feed.samples() + padded) / feed.batch();
}

Batches::Batches(const Feed &feed, const BatchOptions &options)
    : feed_(feed), options_(options),
      perEpoch_(perEpoch(feed, options.shuffle)), position_(options.first) {
  int64_t fitting =
      options_.chunkBytes / std::max<size_t>(1, batchBytes(feed_));
  perChunk_ = std::clamp<int64_t>(fitting, 1, std::max<int64_t>(1, perEpoch_));
  for (Slot &slot : slots_)
    layOut(slot);
  finished_ = perEpoch_ <= 0;
  if (!finished_)
    startThread();
}

void Batches::startThread() {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error &error) {
    finished_ = true;
    status_ = failed("cannot start the thread that prepares batches, beside "
                     "those of --threads: ",
                     error.code().message());
  }
}

Batches::~Batches() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void Batches::layOut(Slot &slot) {
  slot.memory.resize(batchBytes(feed_) * perChunk_ + kAlignment);
  uint8_t *at = slot.memory.data();
  at += aligned(reinterpret_cast<uintptr_t>(at)) -
        reinterpret_cast<uintptr_t>(at);
  for (int64_t batch = 0; batch < perChunk_; ++batch)
    for (size_t i = 0; i < feed_.inputCount(); ++i) {
      slot.inputs.push_back(at);
      at += aligned(feed_.bytesOf(i));
    }
}

const Chunk *Batches::next() {
  std::unique_lock lock(mutex_);
  ++taken_; // which releases the chunk before
  changed_.notify_all();
  changed_.wait(lock, [&] { return made_ >= taken_ || finished_; });
  return made_ >= taken_ ? &slots_[(taken_ - 1) % 3].chunk : nullptr;
}

void Batches::work() {
  std::unique_lock lock(mutex_);
  while (!stop_ && position_ < options_.end) {
    changed_.wait(lock, [&] { return stop_ || made_ - taken_ < 2; });
    if (stop_)
      return;
    Slot &slot = slots_[made_ % 3];
    lock.unlock();
    runtime::Status filled = fillOrSay(slot);
    lock.lock();
    if (!filled.ok()) {
      status_ = filled;
      break;
    }
    ++made_;
    changed_.notify_all();
  }
  finished_ = true;
  changed_.notify_all();
}

/// Turns exceptions into errors: one that left the thread would end the process
/// and lose the training since the last checkpoint.
runtime::Status Batches::fillOrSay(Slot &slot) {
  try {
    return fill(slot);
  } catch (const std::exception &) {
    return failed("cannot prepare a batch: ", wordsOfCaught());
  }
}

runtime::Status Batches::fill(Slot &slot) {
  int64_t epochEnd = (position_ / perEpoch_ + 1) * perEpoch_;
  int64_t count =
      std::min({perChunk_, epochEnd - position_, options_.end - position_});
  size_t inputs = feed_.inputCount();
  slot.chunk.first = position_;
  slot.chunk.count = count;
  slot.chunk.inputs = {slot.inputs.data(), inputs * count};
  for (int64_t i = 0; i < count; ++i)
    GRADUS_TRY(fillBatch(position_ + i, &slot.inputs[i * inputs],
                         &slot.chunk.lastCount));
  position_ += count;
  return runtime::Status();
}

/// Copies the sample at position `from` of the epoch's order to index `place`
/// of a batch.
runtime::Status Batches::copy(int64_t epoch, int64_t from, int64_t place,
                              void *const *inputs) {
  int64_t sample = from;
  if (options_.shuffle)
    sample = Shuffle(options_.seed, epoch, feed_.samples())(from);
  return feed_.copySample(sample, place, inputs,
                          drawOf(options_.seed, epoch, sample));
}

runtime::Status Batches::fillBatch(int64_t batch, void *const *inputs,
                                   int64_t *count) {
  int64_t epoch = batch / perEpoch_, start = batch % perEpoch_ * feed_.batch();
  *count = std::min(feed_.batch(), feed_.samples() - start);
  for (int64_t i = 0; i < *count; ++i)
    GRADUS_TRY(copy(epoch, start + i, i, inputs));
  if (!options_.shuffle || *count == feed_.batch()) {
    feed_.finish(*count, inputs);
    return runtime::Status();
  }
  // The rest are real samples, so that batch norms see realistic data, with
  // labels that are ignored.
  for (int64_t i = *count; i < feed_.batch(); ++i)
    GRADUS_TRY(copy(epoch, (i - *count) % feed_.samples(), i, inputs));
  feed_.ignoreLabels(*count, inputs);
  return runtime::Status();
}

} // namespace gradus::data

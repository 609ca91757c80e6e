// A ring of slots: one in use, the others ready or being filled. Threads take
// shares of samples in order, so that all before one that fails are copied.

#include "training/data/batches.h"

#include "messages/caught.h"
#include "runtime/status.h"

#include <algorithm>
#include <system_error>

using gradus::runtime::failed;

namespace gradus::data {

static constexpr size_t kAlignment = 64;
static constexpr int64_t kShareBytes = 1 << 16; // of samples that are scaled
static constexpr int64_t kSlots = 3;            // or more

static size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

static size_t batchBytes(const Feed &feed) {
  size_t bytes = 0;
  for (size_t i = 0; i < feed.inputCount(); ++i)
    bytes += aligned(feed.bytesOf(i));
  return bytes;
}

/// The number of samples that a thread takes at once, of `all` in a chunk.
static int64_t samplesPerShare(const Feed &feed, int64_t all) {
  if (!feed.scales()) // Moving bytes is faster than waking threads.
    return all;
  if (feed.readsFiles())
    return 1;
  int64_t bytes = batchBytes(feed);
  return std::clamp<int64_t>(kShareBytes * feed.batch() / bytes, 1, all);
}

Batches::Batches(const Feed &feed, const BatchOptions &options)
    : samples_(feed, options.shuffle, options.seed, options.deal),
      options_(options), position_(options.first) {
  if (samples_.perEpoch() <= 0)
    return;
  int64_t turns = samples_.turns();
  int64_t fitting =
      options_.chunkBytes / std::max<size_t>(1, turns * batchBytes(feed));
  perChunk_ = std::clamp<int64_t>(fitting, 1, samples_.perEpoch());
  int64_t samples = perChunk_ * turns * feed.batch();
  perShare_ = samplesPerShare(feed, samples);
  int64_t shares = (samples + perShare_ - 1) / perShare_;
  int64_t threads = feed.scales() ? std::max(1, options_.threads) : 1;
  ring_.slots.resize(kSlots + (threads - 1) / shares);
  for (Slot &slot : ring_.slots)
    layOut(slot);
  startThreads(threads);
}

/// One thread is enough to go on, if more cannot be had.
void Batches::startThreads(int64_t count) {
  threads_.reserve(count);
  try {
    for (int64_t i = 0; i < count; ++i)
      threads_.emplace_back([this] { work(); });
  } catch (const std::system_error &error) {
    if (threads_.empty())
      failure_ = {0, failed("cannot start the thread that prepares batches, "
                            "beside those of --threads: ",
                            error.code().message())};
  }
}

Batches::~Batches() { end(); }

void Batches::end() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
  threads_.clear();
}

void Batches::layOut(Slot &slot) {
  const Feed &feed = samples_.feed();
  int64_t batches = perChunk_ * samples_.turns();
  slot.memory.resize(batchBytes(feed) * batches + kAlignment);
  uint8_t *at = slot.memory.data();
  at += aligned(reinterpret_cast<uintptr_t>(at)) -
        reinterpret_cast<uintptr_t>(at);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (size_t i = 0; i < feed.inputCount(); ++i) {
      slot.inputs.push_back(at);
      at += aligned(feed.bytesOf(i));
    }
}

const Chunk *Batches::next() {
  std::unique_lock lock(mutex_);
  ++ring_.taken; // which releases the chunk before
  room_.notify_all();
  if (stop_ || ring_.slots.empty() || !status_.ok())
    return nullptr;
  const Slot &slot = ring_.lastTaken();
  auto isReady = [&] {
    return ring_.taken <= ring_.begun && slot.done == slot.samples;
  };
  ready_.wait(lock, [&] { return isReady() || isEnd(); });
  if (isReady())
    return &slot.chunk;
  if (failure_)
    status_ = failure_->status;
  return nullptr;
}

/// Whether no chunk becomes ready any more.
bool Batches::isEnd() const {
  return copying_ == 0 &&
         (failure_ || (ring_.taken > ring_.begun && position_ >= options_.end));
}

void Batches::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    room_.wait(lock, [&] { return stop_ || failure_ || hasShare(); });
    if (stop_ || failure_)
      return;
    Share share = takeShare();
    lock.unlock();
    runtime::Status copied = copyOrSay(share);
    lock.lock();
    settle(share, copied);
  }
}

/// Whether there are samples to copy and a place for them; begins a chunk if
/// there is a slot for it.
bool Batches::hasShare() {
  if (ring_.begun > 0) {
    const Slot &last = ring_.lastBegun();
    if (last.given < last.samples)
      return true;
  }
  if (position_ >= options_.end || !ring_.hasRoom())
    return false;
  begin(ring_.at(ring_.begun++));
  return true;
}

void Batches::begin(Slot &slot) {
  const Feed &feed = samples_.feed();
  int64_t perEpoch = samples_.perEpoch(), turns = samples_.turns();
  int64_t epochEnd = (position_ / perEpoch + 1) * perEpoch;
  int64_t count =
      std::min({perChunk_, epochEnd - position_, options_.end - position_});
  slot.chunk.first = position_;
  slot.chunk.count = count;
  slot.chunk.inputs = {slot.inputs.data(), feed.inputCount() * count * turns};
  slot.chunk.lastCount = samples_.real((position_ + count) * turns - 1);
  slot.samples = count * turns * feed.batch();
  slot.given = slot.done = 0;
  position_ += count;
}

Batches::Share Batches::takeShare() {
  Slot &slot = ring_.lastBegun();
  int64_t begin = slot.given;
  slot.given = std::min(slot.samples, begin + perShare_);
  ++copying_;
  return {&slot, begin, slot.given};
}

void Batches::settle(const Share &share, const runtime::Status &status) {
  Slot &slot = *share.slot;
  --copying_;
  if (status.ok()) {
    slot.done += share.end - share.begin;
  } else {
    int64_t sample =
        slot.chunk.first * samples_.turns() * samples_.feed().batch() +
        share.begin;
    if (!failure_ || sample < failure_->sample)
      failure_ = {sample, status};
    room_.notify_all(); // They end.
  }
  if (slot.done == slot.samples)
    finish(slot);
  if (slot.done == slot.samples || failure_ || copying_ == 0)
    ready_.notify_all();
}

/// Turns exceptions into errors: one that left the thread would end the process
/// and lose the training since the last checkpoint.
runtime::Status Batches::copyOrSay(const Share &share) const {
  try {
    return copy(share);
  } catch (const std::exception &) {
    return failed("cannot prepare a batch: ", wordsOfCaught());
  }
}

runtime::Status Batches::copy(const Share &share) const {
  const Chunk &chunk = share.slot->chunk;
  const Feed &feed = samples_.feed();
  size_t inputs = feed.inputCount();
  int64_t first = chunk.first * samples_.turns();
  for (int64_t i = share.begin; i < share.end; ++i) {
    int64_t batch = i / feed.batch(), place = i % feed.batch();
    GRADUS_TRY(samples_.copy(first + batch, place,
                             &share.slot->inputs[batch * inputs]));
  }
  return runtime::Status();
}

/// Ends the batches of a chunk whose samples are copied.
void Batches::finish(const Slot &slot) const {
  size_t inputs = samples_.feed().inputCount();
  int64_t turns = samples_.turns();
  for (int64_t i = 0; i < slot.chunk.count * turns; ++i)
    samples_.finish(slot.chunk.first * turns + i, &slot.inputs[i * inputs]);
}

} // namespace gradus::data

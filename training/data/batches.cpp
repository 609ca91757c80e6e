// A ring of slots: one in use, the others ready or being filled. Threads take
// shares of samples in order, so that all before one that fails are copied.

#include "training/data/batches.h"

#include "messages/caught.h"
#include "runtime/status.h"
#include "training/data/shuffle.h"

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

int64_t Batches::perEpoch(const Feed &feed, bool shuffle) {
  bool whole = shuffle && !feed.masksLastBatch();
  int64_t padded = whole ? 0 : feed.batch() - 1;
  return (feed.samples() + padded) / feed.batch();
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
    : feed_(feed), options_(options),
      perEpoch_(perEpoch(feed, options.shuffle)), position_(options.first) {
  if (perEpoch_ <= 0)
    return;
  int64_t fitting =
      options_.chunkBytes / std::max<size_t>(1, batchBytes(feed_));
  perChunk_ = std::clamp<int64_t>(fitting, 1, perEpoch_);
  int64_t samples = perChunk_ * feed_.batch();
  perShare_ = samplesPerShare(feed_, samples);
  int64_t shares = (samples + perShare_ - 1) / perShare_;
  int64_t threads = feed_.scales() ? std::max(1, options_.threads) : 1;
  slots_.resize(kSlots + (threads - 1) / shares);
  for (Slot &slot : slots_)
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

Batches::~Batches() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
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
  room_.notify_all();
  if (slots_.empty() || !status_.ok())
    return nullptr;
  const Slot &slot = slots_[(taken_ - 1) % slots_.size()];
  auto isReady = [&] { return taken_ <= begun_ && slot.done == slot.samples; };
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
         (failure_ || (taken_ > begun_ && position_ >= options_.end));
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
  if (begun_ > 0) {
    const Slot &last = slots_[(begun_ - 1) % slots_.size()];
    if (last.given < last.samples)
      return true;
  }
  int64_t ahead = begun_ - std::max<int64_t>(taken_, 1) + 1;
  if (position_ >= options_.end || ahead >= std::ssize(slots_))
    return false;
  begin(slots_[begun_++ % slots_.size()]);
  return true;
}

void Batches::begin(Slot &slot) {
  int64_t epochEnd = (position_ / perEpoch_ + 1) * perEpoch_;
  int64_t count =
      std::min({perChunk_, epochEnd - position_, options_.end - position_});
  slot.chunk.first = position_;
  slot.chunk.count = count;
  slot.chunk.inputs = {slot.inputs.data(), feed_.inputCount() * count};
  slot.chunk.lastCount = realSamples(position_ + count - 1);
  slot.samples = count * feed_.batch();
  slot.given = slot.done = 0;
  position_ += count;
}

Batches::Share Batches::takeShare() {
  Slot &slot = slots_[(begun_ - 1) % slots_.size()];
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
    int64_t sample = slot.chunk.first * feed_.batch() + share.begin;
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
  size_t inputs = feed_.inputCount();
  for (int64_t i = share.begin; i < share.end; ++i) {
    int64_t batch = i / feed_.batch(), place = i % feed_.batch();
    GRADUS_TRY(copySample(chunk.first + batch, place,
                          &share.slot->inputs[batch * inputs]));
  }
  return runtime::Status();
}

/// The number of samples in a batch that fill no place of others.
int64_t Batches::realSamples(int64_t batch) const {
  int64_t start = batch % perEpoch_ * feed_.batch();
  return std::min(feed_.batch(), feed_.samples() - start);
}

/// Copies a sample of the epoch's order to index `place` of a batch. Where no
/// real sample is left, training takes others, so that batch norms see
/// realistic data.
runtime::Status Batches::copySample(int64_t batch, int64_t place,
                                    void *const *inputs) const {
  int64_t epoch = batch / perEpoch_, real = realSamples(batch);
  if (place >= real && !options_.shuffle)
    return runtime::Status();
  int64_t from = place < real ? batch % perEpoch_ * feed_.batch() + place
                              : (place - real) % feed_.samples();
  int64_t sample = from;
  if (options_.shuffle)
    sample = Shuffle(options_.seed, epoch, feed_.samples())(from);
  return feed_.copySample(sample, place, inputs,
                          drawOf(options_.seed, epoch, sample));
}

/// Ends the batches of a chunk whose samples are copied.
void Batches::finish(const Slot &slot) const {
  size_t inputs = feed_.inputCount();
  for (int64_t i = 0; i < slot.chunk.count; ++i) {
    int64_t real = realSamples(slot.chunk.first + i);
    void *const *of = &slot.inputs[i * inputs];
    if (!options_.shuffle || real == feed_.batch())
      feed_.finish(real, of);
    else
      feed_.ignoreLabels(real, of);
  }
}

} // namespace gradus::data

// The samples of batches, a batch at a time; see batch_samples.h.

#include "training/data/batch_samples.h"

#include <algorithm>

namespace gradus::data {

int64_t BatchSamples::perEpoch(const Feed &feed, bool shuffle, Deal deal) {
  bool whole = shuffle && !feed.masksLastBatch();
  int64_t together = feed.batch() * deal.ranks;
  int64_t padded = whole ? 0 : together - 1;
  return (feed.samples() + padded) / together;
}

int64_t BatchSamples::start(int64_t batch) const {
  int64_t inEpoch = whole(batch) % perEpoch_;
  int64_t rank = deal_.rank + batch % deal_.turns;
  return (inEpoch * deal_.ranks + rank) * feed_.batch();
}

int64_t BatchSamples::real(int64_t batch) const {
  return std::clamp<int64_t>(feed_.samples() - start(batch), 0, feed_.batch());
}

/// Where no real sample is left, training takes others, so that batch norms see
/// realistic data: on each rank those that one process would take there.
runtime::Status BatchSamples::copy(int64_t batch, int64_t place,
                                   void *const *inputs) const {
  int64_t epoch = whole(batch) / perEpoch_, filled = real(batch);
  if (place >= filled && !trains())
    return runtime::Status();
  int64_t from = start(batch) + place;
  if (place >= filled)
    from = (from - feed_.samples()) % feed_.samples();
  int64_t sample = from;
  if (shuffles_)
    sample = Shuffle(seed_, epoch, feed_.samples())(from);
  return feed_.copySample(sample, place, inputs, drawOf(seed_, epoch, sample));
}

void BatchSamples::finish(int64_t batch, void *const *inputs) const {
  int64_t filled = real(batch);
  if (!trains() || filled == feed_.batch())
    feed_.finish(filled, inputs);
  else
    feed_.ignoreLabels(filled, inputs);
}

} // namespace gradus::data

// Reads some samples from the first to the last; all may be too many.

#include "tool/evaluate/shared_data.h"

#include "runtime/artifact_hash.h"
#include "tool/failure.h"

namespace gradus::cli {

/// The most samples that are read.
static constexpr int64_t kHashed = 16;

static uint64_t hashOfSome(const data::Feed &feed) {
  std::vector<std::vector<uint8_t>> samples(feed.inputCount());
  std::vector<void *> places;
  for (size_t input = 0; input < samples.size(); ++input) {
    samples[input].resize(feed.bytesOf(input));
    places.push_back(samples[input].data());
  }
  int64_t count = std::min(kHashed, feed.samples());
  std::vector<uint64_t> hashes;
  for (int64_t i = 0; i < count; ++i) {
    int64_t sample = count > 1 ? i * (feed.samples() - 1) / (count - 1) : 0;
    check(feed.copySample(sample, 0, places.data()));
    for (const std::vector<uint8_t> &of : samples)
      hashes.push_back(
          artifact::hashBytes(of.data(), of.size() / feed.batch()));
  }
  return artifact::hashBytes(reinterpret_cast<const uint8_t *>(hashes.data()),
                             hashes.size() * sizeof(uint64_t));
}

runtime::Facts factsOf(const data::Feed &feed, const std::string &samples) {
  return {{"the number of " + samples, std::to_string(feed.samples())},
          {"the hash of some " + samples, std::to_string(hashOfSome(feed))}};
}

} // namespace gradus::cli

// The order of the samples in one epoch: a function of seed, epoch and index,
// with nothing stored, so that a resumed run continues the same order.

#pragma once

#include <cstdint>
#include <optional>

namespace gradus::data {

class Shuffle {
public:
  /// An order of `count` samples.
  Shuffle(uint64_t seed, int64_t epoch, int64_t count);

  /// Returns the sample at index `place` in [0, count): a permutation.
  int64_t operator()(int64_t place) const;

private:
  uint64_t encrypt(uint64_t place) const;

  static constexpr int kRounds = 6;
  uint64_t keys_[kRounds];
  uint64_t count_;
  int halfBits_;
};

/// The samples of a data set, or of a part of it in an order of its own.
struct SampleOrder {
  std::optional<Shuffle> order; // none: the whole as it is
  int64_t first = 0;            // where the part begins in the order

  int64_t inWhole(int64_t sample) const {
    return order ? (*order)(first + sample) : sample;
  }
};

/// A pseudo-random number for a sample in an epoch, which seeds its
/// augmentation.
uint64_t drawOf(uint64_t seed, int64_t epoch, int64_t sample);

} // namespace gradus::data

// A Feistel network over the smallest even number of bits that holds `count`,
// walked until the result is below it (format-preserving encryption: Black and
// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).

#include "training/data/shuffle.h"

#include <bit>

namespace gradus::data {

/// The finalizer of splitmix64: every bit of the result depends on every bit.
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Shuffle::Shuffle(uint64_t seed, int64_t epoch, int64_t count) : count_(count) {
  int bits = std::bit_width(count_ > 1 ? count_ - 1 : 1);
  halfBits_ = (bits + 1) / 2;
  uint64_t state =
      mix(seed + 0x9e3779b97f4a7c15u) ^ mix(~static_cast<uint64_t>(epoch));
  for (uint64_t &key : keys_)
    key = mix(state += 0x9e3779b97f4a7c15u);
}

uint64_t Shuffle::encrypt(uint64_t place) const {
  uint64_t mask = (uint64_t(1) << halfBits_) - 1;
  uint64_t left = place >> halfBits_, right = place & mask;
  for (uint64_t key : keys_) {
    uint64_t next = left ^ (mix(right + key) & mask);
    left = right;
    right = next;
  }
  return left << halfBits_ | right;
}

int64_t Shuffle::operator()(int64_t place) const {
  uint64_t sample = place;
  do
    sample = encrypt(sample);
  while (sample >= count_);
  return sample;
}

uint64_t drawOf(uint64_t seed, int64_t epoch, int64_t sample) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  return mix(mix(mix(seed + kStep) + epoch + kStep) + sample + kStep);
}

} // namespace gradus::data

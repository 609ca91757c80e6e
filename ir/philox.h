// Philox4x32-10, a counter-based generator (Salmon et al., "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011): draw i is a function of key and i.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gradus {

class Philox {
public:
  /// Each seed and name has a stream of its own.
  Philox(uint64_t seed, std::string_view name) : seed_(seed) {
    for (char letter : name) // FNV-1a
      stream_ = (stream_ ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
  }

  /// A uniform number in [0, 1) with 53 bits.
  double uniform(uint64_t index) const {
    auto words = block(index);
    return uniformOf(words[0], words[1]);
  }

  /// A standard normal number, by the method of Box and Muller.
  double normal(uint64_t index) const {
    auto words = block(index);
    return normalOf(words[0], words[1]);
  }

  /// The four words for a counter of this stream.
  std::array<uint32_t, 4> block(uint64_t index) const {
    return rounds({uint32_t(index), uint32_t(index >> 32), uint32_t(stream_),
                   uint32_t(stream_ >> 32)},
                  uint32_t(seed_), uint32_t(seed_ >> 32));
  }

  /// The first two words of as many counters as processors compute at once.
  static constexpr size_t kLanes = 16;
  struct Lanes {
    std::array<uint32_t, kLanes> low, high;
  };
  Lanes lanes(uint64_t first) const {
    std::array<uint32_t, kLanes> x[4];
    for (size_t i = 0; i < kLanes; ++i) {
      x[0][i] = uint32_t(first + i);
      x[1][i] = uint32_t((first + i) >> 32);
      x[2][i] = uint32_t(stream_);
      x[3][i] = uint32_t(stream_ >> 32);
    }
    uint32_t key0 = uint32_t(seed_), key1 = uint32_t(seed_ >> 32);
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < kLanes; ++i)
        mix(x[0][i], x[1][i], x[2][i], x[3][i], key0, key1);
      key0 += kKeySteps[0];
      key1 += kKeySteps[1];
    }
    return {x[0], x[1]};
  }

  /// The numbers that the first two words of a counter stand for.
  static double uniformOf(uint32_t low, uint32_t high) {
    uint64_t bits = (uint64_t(high) << 32 | low) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
  }
  static double normalOf(uint32_t low, uint32_t high) {
    double radius = (low + 1.0) * 0x1p-32, angle = high * 0x1p-32;
    return std::sqrt(-2 * std::log(radius)) *
           std::cos(6.283185307179586 * angle);
  }

  static constexpr int kRounds = 10;
  static constexpr uint32_t kFactors[] = {0xD2511F53, 0xCD9E8D57};
  static constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

  /// Runs the ten rounds of the paper on a counter and a key.
  static std::array<uint32_t, 4> rounds(std::array<uint32_t, 4> x,
                                        uint32_t key0, uint32_t key1) {
    for (int round = 0; round < kRounds; ++round) {
      mix(x[0], x[1], x[2], x[3], key0, key1);
      key0 += kKeySteps[0];
      key1 += kKeySteps[1];
    }
    return x;
  }

private:
  /// One round.
  static void mix(uint32_t &x0, uint32_t &x1, uint32_t &x2, uint32_t &x3,
                  uint32_t key0, uint32_t key1) {
    uint64_t a = uint64_t(kFactors[0]) * x0, b = uint64_t(kFactors[1]) * x2;
    x0 = uint32_t(b >> 32) ^ x1 ^ key0;
    x1 = uint32_t(b);
    x2 = uint32_t(a >> 32) ^ x3 ^ key1;
    x3 = uint32_t(a);
  }

  uint64_t seed_;
  uint64_t stream_ = 0xCBF29CE484222325u;
};

} // namespace gradus

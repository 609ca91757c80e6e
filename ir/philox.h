// Philox4x32-10, a counter-based generator (Salmon et al., "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011): draw i is a function of key and i.
#pragma once

#include <array>
#include <cmath>
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
    uint64_t bits = (uint64_t(words[1]) << 32 | words[0]) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
  }

  /// A standard normal number, by the method of Box and Muller.
  double normal(uint64_t index) const {
    auto words = block(index);
    double radius = (words[0] + 1.0) * 0x1p-32, angle = words[1] * 0x1p-32;
    return std::sqrt(-2 * std::log(radius)) *
           std::cos(6.283185307179586 * angle);
  }

  /// The four words for a counter of this stream.
  std::array<uint32_t, 4> block(uint64_t index) const {
    return rounds({uint32_t(index), uint32_t(index >> 32), uint32_t(stream_),
                   uint32_t(stream_ >> 32)},
                  uint32_t(seed_), uint32_t(seed_ >> 32));
  }

  static constexpr int kRounds = 10;
  static constexpr uint32_t kFactors[] = {0xD2511F53, 0xCD9E8D57};
  static constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

  /// Runs the ten rounds of the paper on a counter and a key.
  static std::array<uint32_t, 4> rounds(std::array<uint32_t, 4> x,
                                        uint32_t key0, uint32_t key1) {
    for (int round = 0; round < kRounds; ++round) {
      uint64_t a = uint64_t(kFactors[0]) * x[0],
               b = uint64_t(kFactors[1]) * x[2];
      x = {uint32_t(b >> 32) ^ x[1] ^ key0, uint32_t(b),
           uint32_t(a >> 32) ^ x[3] ^ key1, uint32_t(a)};
      key0 += kKeySteps[0];
      key1 += kKeySteps[1];
    }
    return x;
  }

private:
  uint64_t seed_;
  uint64_t stream_ = 0xCBF29CE484222325u;
};

} // namespace gradus

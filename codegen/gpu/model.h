// A GPU as the compiler takes all of them to be, an H100's numbers: 132
// multiprocessors (NVIDIA H100 datasheet, SXM).
#pragma once

#include <bit>
#include <cstdint>

namespace gradus {

struct GpuModel {
  int64_t multiprocessors = 132;
  /// Blocks of 256 threads that a multiprocessor works on at a time: two have
  /// 128 registers a thread.
  int64_t blocksEach = 2;
  /// Bytes of shared memory that a block may have without being asked for at
  /// launch.
  int64_t sharedBytes = 48 * 1024;
  /// Bytes that the caches hold, about.
  int64_t cacheBytes = 32 * 1024 * 1024;

  int64_t blocksAtOnce() const { return blocksEach * multiprocessors; }
  /// `count` for each multiprocessor, rounded down to a power of two.
  int64_t perMultiprocessor(int64_t count) const {
    return int64_t(std::bit_floor(uint64_t(count * multiprocessors)));
  }

  bool operator==(const GpuModel &) const = default;
};

} // namespace gradus

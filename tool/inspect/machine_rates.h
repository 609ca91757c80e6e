// The peak rates of this machine, measured in a few milliseconds, for expected
// times.

#pragma once

#include <cstdint>

namespace gradus::cli {

struct MachineRates {
  int threads = 1;
  double flops = 0;     // a second, of all threads: f32 multiply-adds, two each
  double pairFlops = 0; // products of pairs of bf16, two a number; 0: none
  double bytes = 0;     // a second, of all threads: read and written in place
};

/// Measures the rates. Memory is measured over `footprint` bytes (at most 64
/// MiB), so that a step that fits a cache counts with the cache's rate.
MachineRates measureRates(int threads, uint64_t footprint);

} // namespace gradus::cli

// What this machine does at its best, measured in a few milliseconds: what
// expected times are made of.

#pragma once

#include <cstdint>

namespace gradus::cli {

struct MachineRates {
  int threads = 1;
  double flops = 0; // a second, of all threads: f32 multiply-adds, two each
  double bytes = 0; // a second, of all threads: read and written in place
};

/// Memory is measured over `footprint` bytes (at most 64 MiB), so that what
/// fits a cache is taken to come from there.
MachineRates measureRates(int threads, uint64_t footprint);

} // namespace gradus::cli

// The peak rates of a device, for expected times and shares of a bandwidth:
// this machine as measured, or a GPU by its data sheet.

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gradus::cli {

struct DeviceRates {
  std::string device;       // "this machine", "NVIDIA H200"
  std::string title;        // for a column of a table: "H200"
  std::string architecture; // of a GPU: "sm_90"
  int threads = 0;          // of a CPU; 0: a GPU
  // Rates per second, of the whole device:
  double bytes = 0;        // of memory
  double flops = 0;        // of f32
  double productFlops = 0; // in 16-bit matmul; of a CPU, of pairs of bf16

  bool isCard() const { return threads == 0; }
  /// The source of the rates: "measured just now on 2 threads", "by its data
  /// sheet".
  std::string source() const;
};

/// Measures this machine with as many bytes as a step may touch
/// (machine_rates.h).
DeviceRates ratesOfMachine(int threads, uint64_t footprint);

/// The GPUs whose data sheets are known.
std::span<const DeviceRates> knownCards();
/// The GPU of this name of the driver; null if it is not known.
const DeviceRates *findCard(const std::string &name);

} // namespace gradus::cli

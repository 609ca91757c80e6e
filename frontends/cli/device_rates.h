// What a device does at its best, of which expected times and shares of a
// bandwidth are made: this machine as measured, or a card as its maker says.

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gradus::cli {

struct DeviceRates {
  std::string device;       // "this machine", "NVIDIA H200"
  std::string title;        // for a column of a table: "H200"
  std::string architecture; // of a card: "sm_90"
  int threads = 0;          // of a processor; 0: a card
  // A second, all of it together:
  double bytes = 0;        // of memory
  double flops = 0;        // of f32
  double productFlops = 0; // of f32, in products of 16-bit matrices

  bool isCard() const { return threads == 0; }
  /// "measured just now on 2 threads", "by its data sheet"
  std::string source() const;
};

/// Measures it, over as many bytes as a step may touch (machine_rates.h).
DeviceRates ratesOfMachine(int threads, uint64_t footprint);

/// Those whose data sheets are known.
std::span<const DeviceRates> knownCards();
/// The one that the driver gives this name; null: not known.
const DeviceRates *findCard(const std::string &name);

} // namespace gradus::cli

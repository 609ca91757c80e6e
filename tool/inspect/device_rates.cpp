// Rates of NVIDIA GPUs from its data sheets, matmul without sparsity:
//   A100: nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf
//   H100:
//   resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet
//   H200: resources.nvidia.com/en-us-gpu-resources/hpc-datasheet-sc23
//   B200: nvidia-blackwell-datasheet (HGX B200, an individual GPU)
// Names are matched as a whole: a part of a GPU (MIG) has another name, and
// other rates.

#include "tool/inspect/device_rates.h"

#include "tool/inspect/machine_rates.h"

#include <algorithm>

namespace gradus::cli {

std::string DeviceRates::source() const {
  if (isCard())
    return "by its data sheet";
  return "measured just now on " + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads");
}

DeviceRates ratesOfMachine(int threads, uint64_t footprint) {
  MachineRates measured = measureRates(threads, footprint);
  DeviceRates rates;
  rates.device = "this machine";
  rates.threads = measured.threads;
  rates.bytes = measured.bytes;
  rates.flops = measured.flops;
  rates.productFlops = std::max(measured.flops, measured.pairFlops);
  return rates;
}

std::span<const DeviceRates> knownCards() {
  static const DeviceRates cards[] = {
      {"NVIDIA A100-SXM4-80GB", "A100", "sm_80", 0, 2.039e12, 19.5e12, 312e12},
      {"NVIDIA H100 80GB HBM3", "H100", "sm_90", 0, 3.35e12, 67e12, 989e12},
      {"NVIDIA H200", "H200", "sm_90", 0, 4.8e12, 67e12, 989e12},
      {"NVIDIA B200", "B200", "sm_100", 0, 7.7e12, 75e12, 2250e12}};
  return cards;
}

const DeviceRates *findCard(const std::string &name) {
  auto cards = knownCards();
  auto found =
      std::find_if(cards.begin(), cards.end(), [&](const DeviceRates &card) {
        return card.device == name;
      });
  return found == cards.end() ? nullptr : &*found;
}

} // namespace gradus::cli

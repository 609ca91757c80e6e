// The shares are what docs/performance.md measures of whole networks.

#include "frontends/cli/expected_time.h"

#include "frontends/cli/text.h"

#include <algorithm>

using namespace gradus::artifact;

namespace gradus::cli {
namespace {

constexpr double kKernelShare = 0.4;     // of the FMA rate, in our own kernels
constexpr double kLibraryShare = 0.8;    // in oneDNN's convolutions, products
constexpr double kCommandSeconds = 2e-6; // to hand a command to the threads

/// Threads that have something to do.
double busyThreads(const Command &command, const MachineRates &rates) {
  const auto *kernel = command.kind_as_KernelCommand();
  if (!kernel)
    return rates.threads;
  int64_t blocks = 0, grain = std::max<int64_t>(1, kernel->grain());
  for (unsigned i = 0; kernel->segments() && i < kernel->segments()->size();
       ++i)
    blocks += (kernel->segments()->Get(i)->items() + grain - 1) / grain;
  return std::clamp<int64_t>(blocks, 1, rates.threads);
}

} // namespace

double expectedSeconds(const Command &command, const MachineRates &rates) {
  double threads = busyThreads(command, rates);
  double part = threads / std::max(1, rates.threads);
  double share =
      command.kind_as_LibraryCommand() ? kLibraryShare : kKernelShare;
  double computing =
      command.flops() / std::max(1.0, rates.flops * part * share);
  double moving = command.bytes() / std::max(1.0, rates.bytes * part);
  return std::max(computing, moving) + (threads > 1 ? kCommandSeconds : 0);
}

std::string expectationText(const MachineRates &rates) {
  return "expected: of each command the longer of its FLOPs at " +
         number("%.0f", rates.flops * 1e-9) + " GFLOP/s (" +
         number("%.0f", kLibraryShare * 100) + " % of that in the library, " +
         number("%.0f", kKernelShare * 100) +
         " % in kernels) and its bytes at " +
         number("%.0f", rates.bytes * 1e-9) +
         " GB/s, as measured just now on " + std::to_string(rates.threads) +
         (rates.threads == 1 ? " thread" : " threads");
}

} // namespace gradus::cli

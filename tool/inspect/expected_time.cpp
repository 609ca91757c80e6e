// Kernels of Winograd's algorithm and of matmuls of pairs are known by their
// names.

#include "tool/inspect/expected_time.h"

#include "runtime/rates.h"
#include "tool/inspect/convolution_windows.h"
#include "tool/text.h"

#include <algorithm>

using namespace gradus::artifact;

namespace gradus::cli {
namespace {

constexpr double kCommandSeconds = 2e-6; // to start a command on the threads

/// The number of threads that have work, on average until the last has done its
/// own: of 9 blocks on 8 threads seven wait for the one that has two.
double busyThreads(const Command &command, const DeviceRates &rates) {
  const auto *kernel = command.kind_as_KernelCommand();
  if (!kernel)
    return rates.threads;
  int64_t blocks = 0, grain = std::max<int64_t>(1, kernel->grain());
  for (unsigned i = 0; kernel->segments() && i < kernel->segments()->size();
       ++i)
    blocks += (kernel->segments()->Get(i)->items() + grain - 1) / grain;
  blocks = std::max<int64_t>(1, blocks);
  int64_t threads = std::max(1, rates.threads),
          turns = (blocks + threads - 1) / threads;
  return double(blocks) / turns;
}

/// The thread that communicates does the work of a sum over ranks, and how long
/// a command waits for it depends on the network.
bool isSum(const Command &command) {
  return command.kind_as_StartCommand() || command.kind_as_FinishCommand();
}

/// The share of the FMA rate that a kernel reaches.
double shareOfKernel(std::string_view name) {
  if (name.starts_with("matmul_of_pairs"))
    return kLibraryShare;
  if (!name.starts_with("winograd"))
    return kKernelShare;
  return name.ends_with("_backward_weights")
             ? winogradWeightsShare(name.starts_with("winograd_2x2") ? 2 : 4)
             : kWinogradShare;
}

/// The share of the FMA rate that a command reaches, by the FLOPs that it
/// counts.
double shareOf(const Command &command) {
  const auto *library = command.kind_as_LibraryCommand();
  if (!library)
    return shareOfKernel(command.name() ? command.name()->string_view() : "");
  if (library->op_type() == LibraryOp::convolution_backward_weights)
    return kConvolutionWeightsShare;
  std::optional<double> inside = shareInside(*library);
  return inside ? kConvolutionShare / *inside : kLibraryShare;
}

double secondsOnMachine(const Command &command, const DeviceRates &rates) {
  double threads = busyThreads(command, rates);
  double part = threads / std::max(1, rates.threads);
  double computing =
      command.flops() / std::max(1.0, rates.flops * part * shareOf(command));
  double moving = command.bytes() / std::max(1.0, rates.bytes * part);
  return std::max(computing, moving) + (threads > 1 ? kCommandSeconds : 0);
}

/// Only the library's matmul runs on tensor cores.
bool multipliesNarrow(const Command &command) {
  const auto *library = command.kind_as_LibraryCommand();
  if (!library || !library->inputs() || library->inputs()->size() == 0)
    return false;
  DType dtype = library->inputs()->Get(0)->dtype();
  return dtype == DType::bf16 || dtype == DType::f16;
}

std::string teraText(double perSecond) {
  return number("%g", perSecond * 1e-12);
}

/// Only the first GPU's text has units.
std::string cardText(const DeviceRates &card, bool isFirst) {
  return card.title + " " + teraText(card.flops) +
         (isFirst ? " TFLOP/s of f32, " : ", ") + teraText(card.productFlops) +
         (isFirst ? " in 16-bit products of libraries, " : ", ") +
         teraText(card.bytes) + (isFirst ? " TB/s" : "");
}

std::string machineText(const DeviceRates &rates) {
  return "expected: of each command the longer of its FLOPs at " +
         number("%.0f", rates.flops * 1e-9) + " GFLOP/s (" +
         number("%.0f", kLibraryShare * 100) +
         " % of that in the library and in matmuls of pairs, " +
         number("%.0f", kConvolutionShare * 100) +
         " % in its convolutions but for their padding, " +
         number("%.0f", kKernelShare * 100) + " % in kernels, " +
         number("%.0f", kWinogradShare * 100) +
         " % in those of Winograd's algorithm; of gradients of weights " +
         number("%.0f", kConvolutionWeightsShare * 100) + " % and " +
         number("%.0f", winogradWeightsShare(4) * 100) +
         " %, with tiles of 2x2 " +
         number("%.0f", winogradWeightsShare(2) * 100) +
         " %) and its bytes at " + number("%.0f", rates.bytes * 1e-9) +
         " GB/s, as " + rates.source();
}

} // namespace

double mostFlops(const Command &command, const DeviceRates &rates) {
  return multipliesNarrow(command) ? rates.productFlops : rates.flops;
}

double expectedSeconds(const Command &command, const DeviceRates &rates) {
  if (isSum(command))
    return 0;
  if (!rates.isCard())
    return secondsOnMachine(command, rates);
  return std::max(command.flops() / mostFlops(command, rates),
                  command.bytes() / rates.bytes);
}

std::string expectationText(const std::vector<DeviceRates> &devices) {
  if (devices.empty())
    return "";
  if (!devices[0].isCard())
    return machineText(devices[0]);
  std::string cards;
  for (const DeviceRates &card : devices)
    cards += (cards.empty() ? "" : "; ") + cardText(card, cards.empty());
  return "expected at least: of each command the longer of its FLOPs and its "
         "bytes, at all that data sheets say, and no launch: " +
         cards;
}

} // namespace gradus::cli

// The tables of a command say what it computes: a library's tensors, and the
// products that our own kernels count. Names are for people.

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

/// Whether a library multiplies numbers of 16 bits: of bf16 pairs on a
/// processor, either kind on the tensor cores of a GPU.
bool multipliesNarrow(const LibraryCommand &library, bool isCard) {
  if (!library.inputs() || library.inputs()->size() == 0)
    return false;
  DType dtype = library.inputs()->Get(0)->dtype();
  return dtype == DType::bf16 || (dtype == DType::f16 && isCard);
}

/// The share of the rate that a library reaches, by the FLOPs that a command
/// counts.
double shareOf(const LibraryCommand &library) {
  bool isOfFew = hasFewChannels(library);
  if (library.op_type() == LibraryOp::convolution_backward_weights)
    return isOfFew ? kConvolutionWeightsShareOfFew : kConvolutionWeightsShare;
  std::optional<double> inside = shareInside(library);
  if (!inside)
    return kLibraryShare;
  return (isOfFew ? kConvolutionShareOfFew : kConvolutionShare) / *inside;
}

const Products *productsOf(const Command &command) {
  const auto *kernel = command.kind_as_KernelCommand();
  return kernel ? kernel->products() : nullptr;
}

double secondsOnMachine(const Command &command, const DeviceRates &rates) {
  double threads = busyThreads(command, rates);
  double part = threads / std::max(1, rates.threads);
  double flops = rates.flops * part, start = threads > 1 ? kCommandSeconds : 0,
         moving = command.bytes() / std::max(1.0, rates.bytes * part);
  // Products wait for what is read before them, which is not prefetched.
  if (const Products *products = productsOf(command))
    return productSeconds({double(products->flops()),
                           double(products->pair_flops()),
                           double(products->operations())},
                          flops, rates.productFlops * part) +
           moving + start;
  const auto *library = command.kind_as_LibraryCommand();
  if (library && library->op_type() == LibraryOp::reorder)
    return moving / kReorderShare + start;
  double computing =
      command.flops() /
      (library ? shareOf(*library) * part * mostFlops(command, rates)
               : kKernelShare * std::max(1.0, flops));
  return std::max(computing, moving) + start;
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
  auto percent = [](double share) {
    return number("%.0f", share * 100) + " %";
  };
  return "expected: of each command the longer of its FLOPs at " +
         number("%.0f", rates.flops * 1e-9) + " GFLOP/s (" +
         (rates.productFlops > rates.flops
              ? number("%.0f", rates.productFlops * 1e-9) +
                    " of pairs of bf16; "
              : "") +
         percent(kLibraryShare) + " of that in the library, " +
         percent(kConvolutionShare) +
         " in its convolutions but for their padding, " +
         percent(kConvolutionWeightsShare) +
         " in their gradients of weights, " + percent(kKernelShare) +
         " in kernels) and its bytes at " + number("%.0f", rates.bytes * 1e-9) +
         " GB/s (" + percent(kReorderShare) +
         " of that in the library's reorders); of kernels that multiply "
         "matrices the sum of both, " +
         percent(kProductShare) + " in products, other operations at " +
         percent(kOperationShare) + "; as " + rates.source();
}

} // namespace

double mostFlops(const Command &command, const DeviceRates &rates) {
  const auto *library = command.kind_as_LibraryCommand();
  const Products *products = productsOf(command);
  bool isNarrow = library ? multipliesNarrow(*library, rates.isCard())
                          : products && products->pair_flops() > 0;
  return std::max(1.0, isNarrow ? rates.productFlops : rates.flops);
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

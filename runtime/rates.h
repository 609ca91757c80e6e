// What kinds of code reach of a processor's rate of multiplications and
// additions, or of its memory's, for estimates of times. The shares of
// convolutions are those of the layers in docs/internals/winograd.md, the
// others those of whole networks in docs/internals/performance_log.md.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gradus {

constexpr double kKernelShare = 0.4;  // our own kernels
constexpr double kLibraryShare = 0.8; // oneDNN's matmul, and what else it has

/// Products of matrices that kernels of our own sum in tiles of registers: they
/// reach from 80 % (Winograd's) to 93 % (matmuls of pairs of bf16).
constexpr double kProductShare = 0.85;
/// Such kernels do an operation, load or store of a vector beside products in
/// the time of a multiplication with its addition, which are two FLOPs.
constexpr double kOperationShare = 0.5;

/// The work of a kernel that multiplies matrices: FLOPs of single numbers and
/// of pairs of bf16, and operations beside them.
struct ProductWork {
  double flops, pairFlops, operations;
};

/// The time that it takes on a machine of so many FLOPs a second; rates that
/// are not known are 0, and count as 1.
constexpr double productSeconds(const ProductWork &work, double flops,
                                double pairFlops) {
  flops = std::max(1.0, flops);
  pairFlops = std::max(1.0, pairFlops);
  return (work.flops / flops + work.pairFlops / pairFlops) / kProductShare +
         work.operations / (kOperationShare * flops);
}

/// oneDNN's convolutions and gradients of their inputs, of the multiplications
/// that are not by padding, which it leaves out but where rows have no more
/// than so many outputs; and its gradients of weights, which have all.
constexpr double kConvolutionShare = 0.95;
constexpr int64_t kColumnsWithPadding = 2;
constexpr double kConvolutionWeightsShare = 0.9;

/// oneDNN's reorders, of the rate of memory.
constexpr double kReorderShare = 0.2;

/// Fewer channels than so many lower these shares to the following.
constexpr int64_t kFewChannels = 32;
constexpr double kConvolutionShareOfFew = 0.63,
                 kConvolutionWeightsShareOfFew = 0.8;

/// `select` assumes these before there are kernels whose work could be counted.
/// Kernels of Winograd's algorithm, transforms included, reach a share of what
/// their products alone would take. Those of weights' gradients transform each
/// tile for several blocks, which costs less with tiles of 2x2.
constexpr double kWinogradShare = 0.7;
constexpr double winogradWeightsShare(int64_t tile) {
  return tile == 4 ? 0.6 : 0.7;
}
constexpr double winogradShareOfFew(int64_t tile) { // of channels
  return tile == 4 ? 0.29 : 0.46;
}

} // namespace gradus

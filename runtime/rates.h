// What kinds of code reach of a processor's rate of multiplications and
// additions, for estimates of times. The shares of convolutions are those of
// the layers in docs/internals/winograd.md, the others those of whole networks
// in docs/internals/performance_log.md.
#pragma once

#include <cstdint>

namespace gradus {

constexpr double kKernelShare = 0.4;  // our own kernels
constexpr double kLibraryShare = 0.8; // oneDNN's matmul, and what else it has

/// oneDNN's convolutions and gradients of their inputs, of the multiplications
/// that are not by padding, which it leaves out but where rows have no more
/// than so many outputs; and its gradients of weights, which have all.
constexpr double kConvolutionShare = 0.95;
constexpr int64_t kColumnsWithPadding = 2;
constexpr double kConvolutionWeightsShare = 0.9;

/// Kernels of Winograd's algorithm, transforms included: a share of what their
/// products alone would take. Those of weights' gradients transform each tile
/// for several blocks, which costs less with tiles of 2x2.
constexpr double kWinogradShare = 0.7;
constexpr double winogradWeightsShare(int64_t tile) {
  return tile == 4 ? 0.6 : 0.7;
}
/// Fewer than 32 channels lower these shares, and those of the library's
/// convolutions and gradients of weights, to the following.
constexpr double winogradShareOfFew(int64_t tile) {
  return tile == 4 ? 0.29 : 0.46;
}
constexpr double kConvolutionShareOfFew = 0.63,
                 kConvolutionWeightsShareOfFew = 0.8;

} // namespace gradus

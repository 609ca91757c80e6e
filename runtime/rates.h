// What kinds of code reach of a processor's rate of multiplications and
// additions, for estimates of times. The shares are those of whole networks in
// docs/internals/performance_log.md, Winograd's that of the layers in
// docs/internals/winograd.md.
#pragma once

namespace gradus {

constexpr double kKernelShare = 0.4;  // our own kernels
constexpr double kLibraryShare = 0.8; // oneDNN's convolutions, matmul
/// Of kernels of Winograd's algorithm, transforms included: a share of what
/// their products alone would take.
constexpr double kWinogradShare = 0.6;

} // namespace gradus

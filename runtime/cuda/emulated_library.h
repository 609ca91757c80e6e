// Who serves library commands on the emulated card: plain loops of the host.
#pragma once

#include "runtime/cuda/library_call.h"

namespace gradus::runtime::cuda {

/// What an emulated library is like.
struct EmulatedLibraryOptions {
  std::string card = ""; // its name, for choices
  bool isSlow = false;
  /// It has no algorithm for epilogues with any of these bits, as
  /// cublasLtEpilogue_t numbers them.
  uint32_t lackedEpilogues = 0;
};

/// Takes what cuBLASLt and cuDNN can be asked for, and refuses the rest in
/// their words, so that a plan which is served here can be described to them.
/// Computes in f32, and calls need no scratch. The driver is the emulated one,
/// and outlives the server.
/// There are two algorithms, "once" and "twice", which computes all a second
/// time; it takes "twice" by itself where it is slow, so that there is
/// something to find for those who measure.
std::unique_ptr<LibraryServer>
emulatedLibrary(const Driver &driver, EmulatedLibraryOptions options = {});

} // namespace gradus::runtime::cuda

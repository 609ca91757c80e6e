// Serves library commands on the emulated GPU by plain loops on the host.
#pragma once

#include "runtime/cuda/libraries/library_call.h"

namespace gradus::runtime::cuda {

/// The properties of an emulated library.
struct EmulatedLibraryOptions {
  std::string card = ""; // name of its GPU, for choices
  bool isSlow = false;
  /// The epilogue bits, as numbered by cublasLtEpilogue_t, for which it has no
  /// algorithm.
  uint32_t lackedEpilogues = 0;
};

/// Serves the commands that cuBLASLt and cuDNN support, and refuses others in
/// the same words, so that a plan which works here can be described to them. It
/// computes in f32, and calls need no scratch. The driver is the emulated one,
/// and must outlive the server.
/// There are two algorithms, "once" and "twice", which computes everything a
/// second time; if `isSlow` the library chooses "twice" itself, so that tuning
/// has something to find.
std::unique_ptr<LibraryServer>
emulatedLibrary(const Driver &driver, EmulatedLibraryOptions options = {});

} // namespace gradus::runtime::cuda

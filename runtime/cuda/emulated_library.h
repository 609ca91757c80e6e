// Who serves library commands on the emulated card: plain loops of the host.
#pragma once

#include "runtime/cuda/library_call.h"

namespace gradus::runtime::cuda {

/// Takes what cuBLASLt and cuDNN can be asked for, and refuses the rest in
/// their words, so that a plan which is served here can be described to them.
/// Computes in f32, and calls need no scratch. The driver is the emulated one,
/// and outlives the server.
/// `card`: its name, for choices. There are two algorithms, "once" and "twice",
/// which computes all a second time; it takes "twice" by itself where it is
/// slow, so that there is something to find for those who measure.
std::unique_ptr<LibraryServer> emulatedLibrary(const Driver &driver,
                                               const std::string &card = "",
                                               bool isSlow = false);

} // namespace gradus::runtime::cuda

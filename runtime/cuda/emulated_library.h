// Who serves library commands on the emulated card: plain loops of the host.
#pragma once

#include "runtime/cuda/library_call.h"

namespace gradus::runtime::cuda {

/// Takes strides of any kind, f32, f16 and bf16, and computes in f32. Calls
/// need no scratch. The driver is the emulated one, and outlives the server.
/// `card`: its name, for choices. There are two algorithms, "once" and "twice",
/// which computes all a second time; it takes "twice" by itself where it is
/// slow, so that there is something to find for those who measure.
std::unique_ptr<LibraryServer> emulatedLibrary(const Driver &driver,
                                               const std::string &card = "",
                                               bool isSlow = false);

} // namespace gradus::runtime::cuda

// The emulated GPU as a device of a session: everything of CudaDevice, on a
// driver and a library in this process.
#pragma once

#include "runtime/cuda/cuda_device.h"
#include "runtime/emulated/fake_driver.h"

namespace gradus::runtime::cuda {

/// Opens the emulated GPU. All open ones in a process share one driver, with
/// the options of the first; each has its own library.
StatusOr<std::unique_ptr<CudaDevice>>
openEmulated(const FakeOptions &options = {});

/// Allocates memory of the open emulated GPU with these contents, which its
/// driver keeps for good, on a thread that needs no context of its own; null
/// where none is open, or it has no more memory.
void *emulatedMemory(const void *bytes, size_t size);

} // namespace gradus::runtime::cuda

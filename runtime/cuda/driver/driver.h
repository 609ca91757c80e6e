// The CUDA driver as one table of functions: those of libcuda.so.1, opened when
// a program asks for a GPU, or those of the emulated driver (fake_driver.h).
//
// No toolkit is needed, and no driver is linked. All kernels run as nodes of
// graphs (graph.h), so there is no function that launches one.
#pragma once

#include "runtime/cuda/driver/driver_abi.h"
#include "runtime/status.h"

#include <string>

namespace gradus::runtime::cuda {

/// Bytes of the device that a command accesses. `unit` is the minimum size of
/// one access, in bytes.
struct Access {
  DevicePointer start = 0;
  uint64_t bytes = 0;
  uint32_t unit = 1;
  bool writes = false;
  uint64_t row = 0,
           pitch = 0; // for rows: `row` bytes every `pitch`; 0: all

  /// Calls `visit` with the start and size of each contiguous range.
  template <typename Visit> void forEachRow(Visit visit) const {
    if (row == 0)
      return visit(start, bytes);
    for (uint64_t at = start; at < end(); at += pitch)
      visit(at, row);
  }
  uint64_t end() const { return start + bytes; }
  bool conflictsWith(const Access &other) const {
    return (writes || other.writes) && bytes && other.bytes &&
           start < other.end() && other.start < end();
  }
};

struct Driver {
#define GRADUS_CUDA(needs, name, symbol, parameters)                           \
  Result(*name) parameters = nullptr;
#include "runtime/cuda/driver/driver.def"

  // Functions that the emulated driver adds for its checks; null on real GPUs.

  /// Declares the bytes that a kernel or captured node reads and writes, and
  /// its name.
  Result (*declareAccesses)(GraphNode node, const char *name,
                            const Access *accesses, size_t count) = nullptr;
  /// Declares the contents of these bytes meaningless from this point on.
  Result (*discard)(DevicePointer start, size_t bytes, Stream stream) = nullptr;
  /// Returns the first error in words; empty if there was none.
  const char *(*report)() = nullptr;

  bool isEmulated() const { return report; }
};

/// Opens a driver's library, and loads its functions.
StatusOr<Driver> loadDriver(const std::string &library);
/// Returns this machine's driver, which is opened once and stays open.
StatusOr<const Driver *> systemDriver();

/// Success, or "WHAT: words (CUDA_ERROR_... 209)".
Status check(const Driver &driver, Result result, const std::string &what);

} // namespace gradus::runtime::cuda

// The CUDA driver as one table of functions: those of libcuda.so.1, opened when
// a program asks for a GPU, or those of the emulated one (fake_driver.h).
//
// Nothing here needs a toolkit, and nothing links a driver. All kernels are run
// as nodes of graphs (graph.h), so there is no function that launches one.
#pragma once

#include "runtime/cuda/driver_abi.h"
#include "runtime/status.h"

#include <string>

namespace gradus::runtime::cuda {

/// Bytes of the device that a command touches. `unit`: the least that it reads
/// or writes at once, in bytes.
struct Access {
  DevicePointer start = 0;
  uint64_t bytes = 0;
  uint32_t unit = 1;
  bool writes = false;
  uint64_t row = 0,
           pitch = 0; // of rows: `row` bytes each `pitch`; 0: all bytes

  /// Calls it with the start and the bytes of each piece that is touched.
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
#include "runtime/cuda/driver.def"

  // What a card does not ask for and the emulated one checks: null on cards.

  /// What a node of a kernel or of something recorded reads and writes, and
  /// whose it is.
  Result (*declareAccesses)(GraphNode node, const char *name,
                            const Access *accesses, size_t count) = nullptr;
  /// Says that what these bytes hold means nothing any more, from there on.
  Result (*discard)(DevicePointer start, size_t bytes, Stream stream) = nullptr;
  /// What was wrong, in words; empty where nothing was.
  const char *(*report)() = nullptr;

  bool isEmulated() const { return report; }
};

/// Opens a driver's library, and takes the functions out of it.
StatusOr<Driver> loadDriver(const std::string &library);
/// This machine's, which is opened once and stays.
StatusOr<const Driver *> systemDriver();

/// Success, or "WHAT: words (CUDA_ERROR_... 209)".
Status check(const Driver &driver, Result result, const std::string &what);

} // namespace gradus::runtime::cuda

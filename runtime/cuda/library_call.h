// Library commands of a plan, as somebody serves them: the vendor's libraries
// on a card, plain loops on the emulated one.
#pragma once

#include "runtime/artifact.h"
#include "runtime/cuda/driver.h"

#include <memory>
#include <vector>

namespace gradus::runtime::cuda {

/// Where the tensors of a call lie, and memory for it alone.
struct CallAddresses {
  std::vector<DevicePointer> inputs, outputs;
  DevicePointer scratch = 0;
};

/// One command, made ready for one card.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// Bytes of scratch that it takes.
  virtual uint64_t scratchBytes() const { return 0; }
  /// Begins the call on a stream, which may be recording a graph: nothing is
  /// allocated, loaded or waited for.
  virtual Status enqueue(Stream stream, const CallAddresses &addresses) = 0;
};

class LibraryServer {
public:
  virtual ~LibraryServer() = default;
  /// Makes a verified command ready, if it can with no more than so many bytes
  /// of scratch, else with as few as it can. The command outlives the call.
  virtual StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command, uint64_t scratchBytes) = 0;
  /// Whether each call must run once before it is recorded, on whatever its
  /// tensors hold.
  virtual bool warmsUp() const { return false; }
};

} // namespace gradus::runtime::cuda

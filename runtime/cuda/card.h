// An open GPU: its properties, and the resources that it provides - memory,
// streams, events, the code of kernels. All functions say in words what failed.
#pragma once

#include "runtime/cuda/driver/owned.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

/// The bytes that a plan needs on the GPU for one purpose: "state", "arena".
struct Need {
  std::string what;
  size_t bytes = 0;
};

class Card {
public:
  /// Opens GPU `index` of the machine, and makes it current on the calling
  /// thread.
  static StatusOr<std::unique_ptr<Card>> open(const Driver &driver, int index);
  Card(const Card &) = delete;
  ~Card();

  const Driver &driver() const { return driver_; }
  Context context() const { return context_; }
  const std::string &name() const { return name_; }
  /// The architecture, "sm_90", and its number, 90.
  std::string architecture() const;
  int capability() const { return 10 * major_ + minor_; }
  int multiprocessors() const { return multiprocessors_; }
  /// The total memory in bytes.
  size_t memory() const { return memory_; }

  /// Makes the GPU current on another thread, before that uses its resources.
  Status makeCurrent() const;
  /// Waits for all work that was started.
  Status synchronize() const;

  /// Checks that enough memory is free, before any of it is allocated.
  Status checkFits(std::span<const Need> needs) const;
  /// Allocates memory of the GPU, aligned to 256 bytes, with undefined
  /// contents; nothing for 0 bytes.
  StatusOr<Owned<DevicePointer>> allocate(const Need &need) const;
  /// Allocates pinned memory of the host, which the GPU can access.
  StatusOr<Owned<void *>> allocatePinned(const Need &need) const;

  StatusOr<Owned<Stream>> createStream() const;
  StatusOr<Owned<Event>> createEvent(bool timed) const;

  /// Loads a cubin, PTX that ends with a zero, or an emulated image.
  StatusOr<Owned<Module>> load(const void *image,
                               const std::string &what) const;
  StatusOr<Function> function(Module module, const std::string &name) const;
  /// The number of blocks of a kernel that run on the GPU at once, given its
  /// registers and shared memory.
  StatusOr<uint32_t> residentBlocks(Function function, uint32_t threads) const;

private:
  explicit Card(const Driver &driver) : driver_(driver) {}
  Status find(int index);
  Status readFacts();
  Status tell(Result result, const std::string &what) const {
    return check(driver_, result, what);
  }

  const Driver &driver_;
  DeviceNumber device_ = 0;
  Context context_ = nullptr;
  std::string name_;
  int major_ = 0, minor_ = 0;
  int multiprocessors_ = 0;
  size_t memory_ = 0;
};

/// Formats a size: "3.5 GiB", "700 bytes".
std::string sizeInWords(size_t bytes);

} // namespace gradus::runtime::cuda

// A GPU that is open: its facts, and what programs get from it - memory,
// streams, events, the code of kernels. All functions say in words what failed.
#pragma once

#include "runtime/cuda/owned.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

/// Bytes that a plan wants on the card, and for what: "state", "arena".
struct Need {
  std::string what;
  size_t bytes = 0;
};

class Card {
public:
  /// Opens GPU `index` of the machine, and makes it the calling thread's.
  static StatusOr<std::unique_ptr<Card>> open(const Driver &driver, int index);
  Card(const Card &) = delete;
  ~Card();

  const Driver &driver() const { return driver_; }
  Context context() const { return context_; }
  const std::string &name() const { return name_; }
  /// "sm_90", and 90.
  std::string architecture() const;
  int capability() const { return 10 * major_ + minor_; }
  int multiprocessors() const { return multiprocessors_; }
  /// Bytes that it has in all.
  size_t memory() const { return memory_; }

  /// Other threads call this before they use what comes from here.
  Status makeCurrent() const;
  /// Waits for all that was begun.
  Status synchronize() const;

  /// Whether so much memory is free now; asked before the first of it is taken.
  Status checkFits(std::span<const Need> needs) const;
  /// Memory of the card, at an address that is a multiple of 256. What it holds
  /// is not said; no bytes are no memory.
  StatusOr<Owned<DevicePointer>> allocate(const Need &need) const;
  /// Memory of the host that the card reads and writes by itself.
  StatusOr<Owned<void *>> allocatePinned(const Need &need) const;

  StatusOr<Owned<Stream>> createStream() const;
  StatusOr<Owned<Event>> createEvent(bool timed) const;

  /// A cubin, PTX that ends with a zero, or an emulated image.
  StatusOr<Owned<Module>> load(const void *image,
                               const std::string &what) const;
  StatusOr<Function> function(Module module, const std::string &name) const;
  /// Blocks of so many threads of a kernel that the card has at once, as its
  /// registers and shared memory allow.
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

/// "3.5 GiB", "700 bytes"
std::string sizeInWords(size_t bytes);

} // namespace gradus::runtime::cuda

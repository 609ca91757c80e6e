// Runs an emulated kernel, block after block with a fiber for each thread, and
// reports errors that a GPU would not: elements outside of buffers, misaligned
// vectors, races, barriers that not all threads reach.
#pragma once

#include "runtime/emulated/abi.h"
#include "runtime/status.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::emulated {

class Shadow;

/// The memory of the device that kernels may access.
class Memory {
public:
  Memory();
  ~Memory();
  /// Adds memory, which stays the caller's; `element` is the smallest number of
  /// bytes that is read or written at once.
  void add(void *data, int64_t bytes, int64_t element);
  /// Adds memory that kernels only read: there are no races to look for, and
  /// `watch` is not called.
  void addConstant(const void *data, int64_t bytes);
  /// Forgets all accesses: kernels run one after the other.
  void beginLaunch();

  struct Range {
    uintptr_t start = 0;
    int64_t bytes = 0, element = 1;
    std::unique_ptr<Shadow> shadow; // null if constant
  };
  /// The memory that contains [address, address + bytes), and the offset in it;
  /// null if there is none.
  Range *find(const void *address, int64_t bytes, int64_t &offset);

  /// If set, called before each access to added memory, except reads of
  /// constants; returns what is wrong with the access, or an empty string.
  std::function<std::string(const void *address, int64_t bytes, bool writes)>
      watch;

private:
  void insert(Range range);
  std::vector<Range> ranges_; // sorted by start
};

struct Launch {
  std::string name; // of the kernel, for errors
  Entry entry = nullptr;
  std::vector<void *> arguments;
  int64_t threads = 1, blocks = 1;
  int64_t shared = 0; // for each block
  unsigned seed = 0;  // the order in which warps run
};

/// Runs a kernel. An error names the kernel, the block and the thread; what the
/// kernel wrote until then stays. Adds to `operations` what all threads have
/// executed.
Status run(const Launch &launch, Memory &memory, int64_t &operations);
Status run(const Launch &launch, Memory &memory);

} // namespace gradus::runtime::emulated

// Runs an emulated kernel: block after block, a fiber a thread, and says what
// is wrong with it, which a GPU would not: elements outside of buffers,
// vectors that are not aligned, races, barriers that not all threads reach.
#pragma once

#include "runtime/emulated/abi.h"
#include "runtime/status.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::emulated {

class Shadow;

/// The memory of the device: what kernels may touch.
class Memory {
public:
  Memory();
  ~Memory();
  /// `element` bytes are the least that is read or written at once. The memory
  /// stays the caller's.
  void add(void *data, int64_t bytes, int64_t element);
  /// What kernels only read: there is no race to look for, and nobody to ask.
  void addConstant(const void *data, int64_t bytes);
  /// Forgets who touched what: kernels run one after the other.
  void beginLaunch();

  struct Range {
    uintptr_t start = 0;
    int64_t bytes = 0, element = 1;
    std::unique_ptr<Shadow> shadow; // null: constant
  };
  /// The memory in which [address, address + bytes) lies, and how far in it;
  /// null if there is none.
  Range *find(const void *address, int64_t bytes, int64_t &offset);

  /// Asked before each access to what was added, reads of constants aside, if
  /// there is one: what is wrong with it, or nothing.
  std::function<std::string(const void *address, int64_t bytes, bool writes)>
      watch;

private:
  void insert(Range range);
  std::vector<Range> ranges_; // by their starts
};

struct Launch {
  std::string name; // of the kernel, for errors
  Entry entry = nullptr;
  std::vector<void *> arguments;
  int64_t threads = 1, blocks = 1;
  int64_t shared = 0; // bytes a block
  unsigned seed = 0;  // the order in which warps run
};

/// What went wrong names the kernel, the block and the thread. What the kernel
/// wrote until then stays. Adds to `operations` what all threads have executed.
Status run(const Launch &launch, Memory &memory, int64_t &operations);
Status run(const Launch &launch, Memory &memory);

} // namespace gradus::runtime::emulated

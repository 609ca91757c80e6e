// A counter that is one higher in each child of fork than in its parent.

#include "runtime/origin.h"

#include <atomic>
#include <pthread.h>

namespace gradus::runtime {

static std::atomic<uint64_t> generation{0};

/// Registered once, when the library is loaded; asking for the process's number
/// in each step would cost a system call.
[[maybe_unused]] static const int registered =
    pthread_atfork(nullptr, nullptr,
                   [] { generation.fetch_add(1, std::memory_order_relaxed); });

Origin::Origin() : generation_(generation.load(std::memory_order_relaxed)) {}

bool Origin::isOther() const {
  return generation_ != generation.load(std::memory_order_relaxed);
}

} // namespace gradus::runtime

// A handle of the driver that its owner releases. The context in which it was
// created must then be the thread's current one.
#pragma once

#include "runtime/cuda/driver/driver.h"

#include <utility>

namespace gradus::runtime::cuda {

template <typename Handle> class Owned {
public:
  using Release = Result (*)(Handle);

  Owned() = default;
  Owned(Handle handle, Release release) : handle_(handle), release_(release) {}
  Owned(Owned &&other) noexcept
      : handle_(std::exchange(other.handle_, Handle())),
        release_(other.release_) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    // A failure on a lost GPU was reported before.
    if (handle_)
      release_(handle_);
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle(); }

private:
  Handle handle_ = Handle();
  Release release_ = nullptr;
};

} // namespace gradus::runtime::cuda

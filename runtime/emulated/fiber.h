// A function that runs on a stack of its own and can stop in the middle: a
// thread of an emulated GPU. One processor thread runs all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::runtime::emulated {

/// A body runs on this, and so does the next one.
struct FiberStack {
  char *memory = nullptr;
  /// AddressSanitizer's own stack beside it: to make one for each body would
  /// take most of the time of a kernel.
  [[maybe_unused]] void *fake = nullptr;
};

class Fiber {
public:
  Fiber() = default;
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;
  ~Fiber();

  /// Has `body(argument)` run from its beginning at the next `resume`; what ran
  /// before is forgotten. False if there is no memory for its stack.
  bool start(void (*body)(void *), void *argument);
  /// Runs until the body yields or returns.
  void resume();
  /// In the body: back to who resumed.
  void yield();
  bool isDone() const { return done_; }

private:
  [[noreturn]] static void enter();
  void run();
  void switchIn();
  void switchOut();

  void (*body_)(void *) = nullptr;
  void *argument_ = nullptr;
  bool done_ = true;
  FiberStack stack_;
  void *own_ = nullptr;    // where the body stands
  void *caller_ = nullptr; // where `resume` stands
  // For sanitizers, which follow the stacks.
  [[maybe_unused]] void *callerFake_ = nullptr;
  [[maybe_unused]] const void *callerStack_ = nullptr;
  [[maybe_unused]] size_t callerBytes_ = 0;
};

} // namespace gradus::runtime::emulated

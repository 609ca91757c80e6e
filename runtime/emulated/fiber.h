// A function that runs on a stack of its own and can stop in the middle: a
// thread of an emulated GPU. One CPU thread runs all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::runtime::emulated {

/// A stack that is reused for one body after another.
struct FiberStack {
  char *memory = nullptr;
  /// AddressSanitizer's own stack beside it: making one for each body would
  /// take most of the time of a kernel.
  [[maybe_unused]] void *fake = nullptr;
};

class Fiber {
public:
  Fiber() = default;
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;
  ~Fiber();

  /// Sets up `body(argument)` to run from its beginning at the next `resume`;
  /// the previous body is forgotten. False if there is no memory for its stack.
  bool start(void (*body)(void *), void *argument);
  /// Runs the body until it yields or returns.
  void resume();
  /// Called in the body: returns to the caller of `resume`.
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
  void *own_ = nullptr;    // the body's position
  void *caller_ = nullptr; // the position in `resume`
  // Sanitizers need these to track the stacks.
  [[maybe_unused]] void *callerFake_ = nullptr;
  [[maybe_unused]] const void *callerStack_ = nullptr;
  [[maybe_unused]] size_t callerBytes_ = 0;
};

} // namespace gradus::runtime::emulated

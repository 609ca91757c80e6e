// The floating-point mode of a thread that runs steps, whatever its program has
// chosen: no number raises a signal (feenableexcept), and kernels need no
// denormals. After the scope the program's own mode and flags are as they were.

#pragma once

#include <immintrin.h>

namespace gradus::runtime {

/// While an object lives, overflow, NaN and division by zero raise no SIGFPE in
/// the thread that made it.
class QuietFloats {
public:
  QuietFloats() : QuietFloats(0) {}
  ~QuietFloats() { _mm_setcsr(saved_); }
  QuietFloats(const QuietFloats &) = delete;
  QuietFloats &operator=(const QuietFloats &) = delete;

protected:
  explicit QuietFloats(unsigned more) : saved_(_mm_getcsr()) {
    _mm_setcsr(saved_ | _MM_MASK_MASK | more);
  }

private:
  unsigned saved_;
};

/// Also reads and writes denormals as zero: they cost 100x on some cores and
/// training never needs them.
class FlushDenormals : public QuietFloats {
public:
  FlushDenormals() : QuietFloats(_MM_FLUSH_ZERO_ON | kDenormalsAreZero) {}

private:
  static constexpr unsigned kDenormalsAreZero = 0x0040;
};

} // namespace gradus::runtime

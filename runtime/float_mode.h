// How a thread computes while it runs steps, whatever its program has chosen:
// no number raises a signal (feenableexcept), and kernels need no denormals.
// The program's own mode is back behind the scope, its flags as they were.

#pragma once

#include <immintrin.h>

namespace gradus::runtime {

/// Overflow, NaN and division by zero give the numbers that they give, without
/// a SIGFPE, while one lives, in the thread that made it.
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

/// Besides, denormals are read and written as zero: they cost 100x on some
/// cores and training never needs them.
class FlushDenormals : public QuietFloats {
public:
  FlushDenormals() : QuietFloats(_MM_FLUSH_ZERO_ON | kDenormalsAreZero) {}

private:
  static constexpr unsigned kDenormalsAreZero = 0x0040;
};

} // namespace gradus::runtime

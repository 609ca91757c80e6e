// The interface between emulated kernels and the machine that runs them: one
// structure for each thread, at fixed offsets, and the functions that kernels
// call. The compiler (codegen/gpu/emulated.cpp) includes it too.
#pragma once

#include <cstdint>

namespace gradus::runtime::emulated {

/// Math functions that kernels call, each for f32 and f64.
#define GRADUS_EMULATED_UNARY(X)                                               \
  X(exp)                                                                       \
  X(exp2)                                                                      \
  X(expm1)                                                                     \
  X(log)                                                                       \
  X(log2) X(log10) X(log1p) X(erf) X(tanh) X(sinh) X(cosh) X(sin) X(cos)       \
      X(tan) X(asin) X(acos) X(atan) X(asinh) X(acosh) X(atanh) X(round)
#define GRADUS_EMULATED_BINARY(X) X(pow) X(fmod)

/// The `buffer` of an access for which the kernel has only an address.
constexpr int64_t kAddress = INT64_MIN;

struct Thread;

/// Pointers to the functions, in this order. `site` identifies the call in a
/// kernel.
struct Services {
  void (*barrier)(Thread *, int64_t site);
  void (*warpBarrier)(Thread *, int64_t site);
  int32_t (*shuffleXor)(Thread *, int64_t site, int32_t value, int32_t mask);
  /// Called before an access to an element of argument `buffer`, or of shared
  /// memory -1 - `buffer`, which has `elements` elements. The access is to
  /// `bytes` bytes at an address that the instruction needs to be a multiple of
  /// `alignment`.
  void (*access)(Thread *, int64_t buffer, int64_t index, int64_t elements,
                 int64_t bytes, int64_t alignment, int64_t writes,
                 void *address);
#define GRADUS_DECLARE(name)                                                   \
  float (*name##32)(float);                                                    \
  double (*name##64)(double);
  GRADUS_EMULATED_UNARY(GRADUS_DECLARE)
#undef GRADUS_DECLARE
#define GRADUS_DECLARE(name)                                                   \
  float (*name##32)(float, float);                                             \
  double (*name##64)(double, double);
  GRADUS_EMULATED_BINARY(GRADUS_DECLARE)
#undef GRADUS_DECLARE
};

/// The only argument of a kernel.
struct Thread {
  void **arguments; // pointers, or integers instead
  char *shared;     // of the block
  const Services *services;
  int64_t thread, block, threads, blocks;
  /// The number of operations executed, which the kernel's code counts:
  /// additions, accesses, comparisons and the like, without what costs a GPU
  /// nothing (constants, parts of vectors). It stands for a GPU's instructions.
  int64_t operations = 0;
};

using Entry = void (*)(Thread *);

} // namespace gradus::runtime::emulated

// What emulated kernels and the machine that runs them agree on: one structure
// a thread, at fixed offsets, and the functions that kernels call. The
// compiler (codegen/gpu_emulated.cpp) includes it too.
#pragma once

#include <cstdint>

namespace gradus::runtime::emulated {

/// Functions that kernels do not compute themselves, each for f32 and f64.
#define GRADUS_EMULATED_UNARY(X)                                               \
  X(exp)                                                                       \
  X(exp2)                                                                      \
  X(expm1)                                                                     \
  X(log) X(log2) X(log10) X(log1p) X(erf) X(tanh) X(sinh) X(cosh) X(sin)       \
      X(cos) X(tan) X(asin) X(acos) X(atan) X(asinh) X(acosh) X(atanh)         \
          X(round)
#define GRADUS_EMULATED_BINARY(X) X(pow) X(fmod)

/// `buffer` of an access where the kernel has an address and no more.
constexpr int64_t kAddress = INT64_MIN;

struct Thread;

/// One pointer each, in this order. `site` tells the places of a kernel apart.
struct Services {
  void (*barrier)(Thread *, int64_t site);
  void (*warpBarrier)(Thread *, int64_t site);
  int32_t (*shuffleXor)(Thread *, int64_t site, int32_t value, int32_t mask);
  /// Comes before an access to an element: of argument `buffer`, or of shared
  /// memory -1 - `buffer`, which has so many `elements`; it takes so many bytes
  /// at an address that the instruction wants to be a multiple of `alignment`.
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

/// A kernel's only argument.
struct Thread {
  void **arguments; // pointers, and integers in their place
  char *shared;     // of the block
  const Services *services;
  int64_t thread, block, threads, blocks;
  /// What it has executed, which its code counts: additions, accesses,
  /// comparisons and the like, without what costs a GPU nothing (constants,
  /// parts of vectors). It stands for a GPU's instructions.
  int64_t operations = 0;
};

using Entry = void (*)(Thread *);

} // namespace gradus::runtime::emulated

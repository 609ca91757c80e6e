// Counts what a kernel that multiplies matrices computes, for estimates of its
// time: its products, and all that it does beside them.
#pragma once

#include "codegen/plan/plan.h"

#include <optional>

namespace gradus {

/// The work of all items of a kernel.
struct KernelWork {
  /// Products of single numbers count two each; those of f64 four, as a vector
  /// has half as many.
  double flops = 0;
  double pairFlops = 0; // products of pairs of bf16 count four a pair
  /// Nests do these beside products for each element that they make:
  /// arithmetic, a multiplication with an addition being one operation, loads
  /// and stores.
  double operations = 0;
};

/// The work of a kernel that `multiplies`; of others nothing.
std::optional<KernelWork> workOf(plan::KernelOp kernel);

} // namespace gradus

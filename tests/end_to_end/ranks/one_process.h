// Ranks against one process on the samples of all. For tests.
#pragma once

#include "programs.h"
#include "sessions.h"

#include <functional>

namespace gradus {

/// One training, on ranks and in one process.
struct Case {
  const char *program = kDense;
  std::string recipe = kCrossEntropy + kKeepAll; // besides the optimizer
  /// Keys besides the mode; RANKS stands for the number of ranks.
  std::string distribution = {};
  /// Changes the samples of all ranks before a step.
  std::function<void(NamedTensors &batch, int step, int ranks)> change = {};
  int steps = 20;
  int firstUpdate = 0;        // the step in which the first gradients are used
  bool isNarrow = false;      // bf16
  bool hasOwnOutputs = false; // those of a rank are of its own samples
  /// How many times the sizes of a sum's terms are, together, that of the sum,
  /// where states have sums of products with gradients.
  double cancellation = 1;
};

/// Bounds of gaps, as parts of the largest number of a tensor.
struct Limits {
  double gradients = 1e-6;             // of the first update
  double losses = 1e-5, states = 1e-5; // of all steps, at the end
};

Limits limitsOf(const Case &wanted, int ranks);

/// The largest gaps, which the test's report keeps.
struct Gaps {
  double gradients = 0, losses = 0, states = 0;

  void record(int ranks) const;
};

/// Expects the numbers of `expected`, each with a gap of at most `limit`;
/// raises the largest gap.
void expectGap(const NamedTensors &found, const NamedTensors &expected,
               double limit, double &largest);

runtime::SessionOptions oneThread();

/// Expects that ranks train as one process, for each number of them that is
/// tested. Returns the states at the end, with the last of these numbers.
NamedTensors expectOneProcess(const Case &wanted);

/// Ignores the labels of samples [first, last).
void ignore(NamedTensors &batch, int64_t first, int64_t last);
/// No label of rank 0 counts, and of each rank behind it one more does.
void ignoreUnequally(NamedTensors &batch, int step, int ranks);
/// Some steps have a number that is none among the samples of the last rank.
void overflow(NamedTensors &batch, int step, int ranks);

} // namespace gradus

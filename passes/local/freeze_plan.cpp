// Implements gradient freezing as pure functions; see freeze_plan.h.

#include "passes/local/freeze_plan.h"

#include "llvm/ADT/StringRef.h"

#include <cmath>

using namespace gradus;

//===-- groups ------------------------------------------------------------===//

std::vector<int64_t>
gradus::freezeCuts(llvm::ArrayRef<FrozenParameter> parameters, int64_t count) {
  std::vector<int64_t> layers;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (i == 0 || parameters[i].isWeight)
      layers.push_back(i);
  count = std::min<int64_t>(count, layers.size());
  std::vector<int64_t> cuts;
  for (int64_t group = 0; group < count; ++group)
    cuts.push_back(layers[group * layers.size() / count]);
  return cuts;
}

/// The starts of MindSpore's chunks, which have at least three parameters.
static std::vector<int64_t>
chunksOf(llvm::ArrayRef<FrozenParameter> parameters) {
  std::vector<int64_t> chunks;
  for (size_t i = 0; i < parameters.size(); ++i) {
    llvm::StringRef name = parameters[i].name;
    bool follows = name.contains("bn") || name.contains("bias");
    if (chunks.empty() || (!follows && int64_t(i) - chunks.back() >= 3))
      chunks.push_back(i);
  }
  return chunks;
}

std::vector<int64_t>
gradus::freezeCutsOfMindSpore(llvm::ArrayRef<FrozenParameter> parameters,
                              int64_t count) {
  std::vector<int64_t> chunks = chunksOf(parameters), cuts;
  for (int64_t group = 0; group < count && !chunks.empty(); ++group)
    cuts.push_back(chunks[group * (chunks.size() / count)]);
  return cuts;
}

//===-- schedules ---------------------------------------------------------===//

namespace {

/// Alternates: some steps that train everything, then one for each other group.
std::vector<int64_t> inTurn(const FreezeSchedule &s, int64_t length) {
  double dividend = s.p * (s.groups - 1), divisor = 1 - s.p;
  // Python computes the floor division of floats from the remainder.
  double floored =
      std::floor((dividend - std::fmod(dividend, divisor)) / divisor + 0.5);
  auto whole =
      int64_t(s.asMindSpore ? floored + 0.5 : std::round(dividend / divisor));
  std::vector<int64_t> steps;
  while (int64_t(steps.size()) < length) {
    steps.insert(steps.end(), whole, 0);
    for (int64_t group = 1; group < s.groups; ++group)
      steps.push_back(group);
  }
  return steps;
}

/// The group for a number in [0, 1): n - 1 with probability 1 / S, then n - 2
/// with 2 / S, and so on to 1, for S = n (n - 1) / 2.
int64_t drawn(double number, int64_t groups) {
  double all = groups * (groups - 1) / 2.0, sum = 0;
  for (int64_t group = groups - 1; group > 1; --group) {
    sum += (groups - group) / all;
    if (number < sum)
      return group;
  }
  return 1;
}

/// Adds a frozen step whenever there were too few so far.
std::vector<int64_t> byDraw(const FreezeSchedule &s, int64_t length,
                            llvm::function_ref<double()> draw) {
  std::vector<int64_t> steps = {0};
  double whole = 1, frozen = 0;
  while (int64_t(steps.size()) < length) {
    bool freezes = frozen / (whole + frozen) < 1 - s.p;
    (freezes ? frozen : whole) += 1;
    steps.push_back(freezes ? drawn(draw(), s.groups) : 0);
  }
  return steps;
}

} // namespace

std::vector<int64_t> gradus::freezeSequence(const FreezeSchedule &schedule,
                                            llvm::function_ref<double()> draw) {
  int64_t length = schedule.asMindSpore ? int64_t(schedule.totalSteps * 1.01)
                                        : schedule.totalSteps;
  if (schedule.groups < 2)
    return std::vector<int64_t>(length, 0);
  return schedule.type == 0 ? inTurn(schedule, length)
                            : byDraw(schedule, length, draw);
}

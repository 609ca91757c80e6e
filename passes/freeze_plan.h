// Which parameters a frozen step trains, and which step is frozen how far:
// gradient freezing as pure functions of names and numbers.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus {

/// A trained parameter, in the order of the forward pass.
struct FrozenParameter {
  std::string name;
  bool isWeight; // of rank 2 or more
};

/// Where each of `count` groups begins in the list of parameters; a group is
/// all from there on, the first one is everything. A weight and the vectors
/// behind it stay together; layers are shared out evenly. Fewer than `count`
/// where there are fewer layers.
std::vector<int64_t> freezeCuts(llvm::ArrayRef<FrozenParameter> parameters,
                                int64_t count);

/// The same as MindSpore has it: by names that contain "bn" or "bias", with
/// what does not divide left in all groups.
std::vector<int64_t>
freezeCutsOfMindSpore(llvm::ArrayRef<FrozenParameter> parameters,
                      int64_t count);

struct FreezeSchedule {
  int64_t groups = 0;
  int64_t type = 0;       // 0: cuts in turn; 1: drawn
  double p = 0;           // part of the steps that train everything
  int64_t totalSteps = 0; // until it begins again
  bool asMindSpore = false;
};

/// The group of each step; what follows the last one begins again. `draw` gives
/// the numbers in [0, 1) by which drawn cuts are chosen, in order.
std::vector<int64_t> freezeSequence(const FreezeSchedule &schedule,
                                    llvm::function_ref<double()> draw);

} // namespace gradus

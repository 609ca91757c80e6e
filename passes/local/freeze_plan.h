// Gradient freezing as pure functions of names and numbers: which parameters
// each group trains, and which group each step trains.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus {

/// A trained parameter; lists are in the order of the forward pass.
struct FrozenParameter {
  std::string name;
  bool isWeight; // of rank 2 or more
};

/// The starts of `count` groups in the list of parameters. A group is all
/// parameters from its start on; the first is all of them. A weight stays with
/// the vectors after it; layers are divided evenly. If there are fewer layers,
/// there are fewer groups.
std::vector<int64_t> freezeCuts(llvm::ArrayRef<FrozenParameter> parameters,
                                int64_t count);

/// The starts by MindSpore's rules: by names that contain "bn" or "bias", with
/// the remainder of the division in all groups.
std::vector<int64_t>
freezeCutsOfMindSpore(llvm::ArrayRef<FrozenParameter> parameters,
                      int64_t count);

struct FreezeSchedule {
  int64_t groups = 0;
  int64_t type = 0;       // 0: groups in turn; 1: drawn at random
  double p = 0;           // fraction of steps that train everything
  int64_t totalSteps = 0; // after which it starts again
  bool asMindSpore = false;
};

/// The group of each step; after the last one the sequence starts again. `draw`
/// returns numbers in [0, 1), from which random groups are chosen in order.
std::vector<int64_t> freezeSequence(const FreezeSchedule &schedule,
                                    llvm::function_ref<double()> draw);

} // namespace gradus

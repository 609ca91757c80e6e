// Parameters by group, for people and for what works on several at once: those
// of the recipe's `groups`, and those whose gradients become final together.
#pragma once

#include "recipe/settings.h"

namespace gradus {

/// The recipe's `distribution`.
const recipe::Field &distributionKey();

/// The group of each of `count` gradients, from 1 on: a new one begins at each
/// of `splits` (MindSpore's assign_parameter_group). Without any, in the
/// middle; what lies behind the end does nothing.
std::vector<int64_t> gradientGroups(size_t count,
                                    llvm::ArrayRef<int64_t> splits);

struct ParameterList {
  std::string name; // "groups.0 (*.bias)", "gradients 1"
  std::vector<StateOp> parameters;
};

/// The trained parameters of each group of the recipe, the rest, and, where the
/// recipe has split points, of each group of gradients. A group that matches
/// none is left out. Empty where the recipe has no groups at all.
std::vector<ParameterList> parameterLists(ProgramOp program);

} // namespace gradus

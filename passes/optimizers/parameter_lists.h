// Parameters by group, for reports and for methods on several at once: the
// recipe's `groups`, and groups whose gradients become final together.
#pragma once

#include "recipe/settings.h"

namespace gradus {

/// The group of each of `count` gradients, from 1 on: a new one begins at each
/// of `splits` (MindSpore's assign_parameter_group). Without any, in the
/// middle; what lies behind the end does nothing.
std::vector<int64_t> gradientGroups(size_t count,
                                    llvm::ArrayRef<int64_t> splits);

struct ParameterList {
  std::string name; // "groups.0 (*.bias)", "gradients 1"
  std::vector<StateOp> parameters;
};

/// The trained parameters of each group of the recipe, the rest, and, if the
/// recipe has split points, those of each group of gradients. Groups without
/// parameters are left out. Empty if the recipe has no groups.
std::vector<ParameterList> parameterLists(ProgramOp program);

} // namespace gradus

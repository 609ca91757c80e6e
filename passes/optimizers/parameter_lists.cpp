// Lists parameters by group; see parameter_lists.h.

#include "passes/optimizers/parameter_lists.h"

#include "passes/distribution.h"
#include "passes/optimizers/parameters.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gradus;

std::vector<int64_t> gradus::gradientGroups(size_t count,
                                            ArrayRef<int64_t> splits) {
  SmallVector<int64_t> middle = {int64_t(count / 2)};
  if (splits.empty())
    splits = middle;
  std::vector<int64_t> groups;
  int64_t group = 1;
  for (size_t i = 0; i < count; ++i) {
    if (llvm::is_contained(splits, int64_t(i)))
      ++group;
    groups.push_back(group);
  }
  return groups;
}

/// Returns the parameters that a pattern of the group names, and removes them
/// from `others`.
static ParameterList listOf(const ParameterGroup &group, size_t index,
                            ArrayRef<StateOp> parameters,
                            std::vector<StateOp> &others) {
  NamePatterns patterns(group.match);
  ParameterList list;
  list.name = "groups." + std::to_string(index) + " (" +
              llvm::join(group.match, ", ") + ")";
  for (StateOp parameter : parameters)
    if (patterns.match(parameter.getSymName()))
      list.parameters.push_back(parameter);
  llvm::erase_if(others, [&](StateOp parameter) {
    return llvm::is_contained(list.parameters, parameter);
  });
  return list;
}

static void addGradients(std::vector<ParameterList> &lists,
                         ArrayRef<StateOp> parameters,
                         ArrayRef<int64_t> splits) {
  for (auto [parameter, group] :
       llvm::zip(parameters, gradientGroups(parameters.size(), splits))) {
    std::string name = "gradients " + std::to_string(group);
    if (lists.empty() || lists.back().name != name)
      lists.push_back({name, {}});
    lists.back().parameters.push_back(parameter);
  }
}

std::vector<ParameterList> gradus::parameterLists(ProgramOp program) {
  std::vector<StateOp> parameters = trainedParameters(program);
  std::vector<ParameterList> lists;
  std::vector<StateOp> others = parameters;
  std::vector<ParameterGroup> groups = parameterGroups(program);
  for (auto [index, group] : llvm::enumerate(groups)) {
    ParameterList list = listOf(group, index, parameters, others);
    if (!list.parameters.empty())
      lists.push_back(list);
  }
  if (!groups.empty() && !others.empty())
    lists.push_back({"others", others});
  if (auto splits = distributionOf(program).cuts.splits)
    addGradients(lists, parameters, *splits);
  return lists;
}

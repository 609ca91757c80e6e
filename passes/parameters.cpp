// Matches the recipe's patterns with parameters' names; see parameters.h.

#include "passes/parameters.h"

#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace gradus;

FailureOr<NamePatterns> NamePatterns::read(const RecipeObject &recipe,
                                           StringRef key,
                                           ArrayRef<StringRef> otherwise) {
  NamePatterns result;
  for (const std::string &text : recipe.texts(key, otherwise)) {
    auto pattern = llvm::GlobPattern::create(text);
    if (!pattern) {
      recipe.error(key) << "has the pattern \"" << text
                        << "\": " << llvm::toString(pattern.takeError());
      return failure();
    }
    result.patterns.push_back(text);
  }
  return result;
}

bool NamePatterns::match(StringRef name) const {
  // A pattern of GlobPattern refers to its text, so it is made where it is
  // used; read() has seen that it can be.
  return llvm::any_of(patterns, [&](const std::string &text) {
    return llvm::cantFail(llvm::GlobPattern::create(text)).match(name);
  });
}

FailureOr<std::vector<StateOp>> gradus::trainedParameters(ProgramOp program) {
  RecipeObject recipe = recipeOf(program);
  auto trainable = NamePatterns::read(recipe, "trainable", {"*"});
  auto fixed = NamePatterns::read(recipe, "fixed", {});
  if (failed(trainable) || failed(fixed))
    return failure();
  std::vector<StateOp> trained;
  for (auto state : program.getBody().getOps<StateOp>())
    if (state.getRole() == Role::parameter &&
        isa<FloatType>(
            cast<RankedTensorType>(state.getType()).getElementType()) &&
        trainable->match(state.getSymName()) &&
        !fixed->match(state.getSymName()))
      trained.push_back(state);
  return trained;
}

double ParameterSettings::learningRateFactor() const {
  double factor = 1;
  for (const RecipeObject &group : groups)
    factor *= group.number("learning_rate_factor", 1.0);
  return factor;
}

const RecipeObject &ParameterSettings::holderOf(StringRef key) const {
  for (const RecipeObject &group : llvm::reverse(groups))
    if (group.has(key))
      return group;
  return optimizer;
}

FailureOr<ParameterGroups> ParameterGroups::read(ProgramOp program) {
  RecipeObject recipe = recipeOf(program);
  ParameterGroups result(recipe.object("optimizer"));
  for (const RecipeObject &group : recipe.objects("groups")) {
    auto patterns = NamePatterns::read(group, "match", {});
    if (failed(patterns))
      return failure();
    bool used =
        llvm::any_of(program.getBody().getOps<StateOp>(), [&](StateOp state) {
          return state.getRole() == Role::parameter &&
                 patterns->match(state.getSymName());
        });
    if (!used)
      group.warning("match") << "names no parameter of the model";
    result.groups.emplace_back(*patterns, group);
  }
  return result;
}

ParameterSettings ParameterGroups::settingsOf(StringRef parameter) const {
  std::vector<RecipeObject> matching;
  for (const auto &[patterns, group] : groups)
    if (patterns.match(parameter))
      matching.push_back(group);
  return {optimizer, std::move(matching)};
}

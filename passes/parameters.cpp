// Matches the recipe's patterns with parameters' names; see parameters.h.

#include "passes/parameters.h"

#include "passes/state.h"
#include "recipe/nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace gradus;

NamePatterns gradus::patternsOf(const RecipeObject &recipe, StringRef key,
                                ArrayRef<StringRef> otherwise) {
  return NamePatterns(recipe.texts(key, otherwise));
}

/// Patterns of the groups whose parameters stay as they are.
static std::vector<NamePatterns> frozen(const RecipeObject &recipe) {
  std::vector<NamePatterns> result;
  for (const RecipeObject &group : recipe.objects("groups"))
    if (group.flag("frozen", false))
      result.push_back(patternsOf(group, "match"));
  return result;
}

static bool isFloat(StateOp state) {
  return isa<FloatType>(
      cast<RankedTensorType>(state.getType()).getElementType());
}

std::vector<StateOp> gradus::trainedParameters(ProgramOp program) {
  RecipeObject recipe = recipeOf(program);
  NamePatterns trainable = patternsOf(recipe, "trainable", {"*"});
  NamePatterns fixed = patternsOf(recipe, "fixed");
  std::vector<NamePatterns> still = frozen(recipe);
  std::vector<StateOp> trained;
  for (auto state : program.getBody().getOps<StateOp>()) {
    StringRef name = state.getSymName();
    if (state.getRole() == Role::parameter && isFloat(state) &&
        trainable.match(name) && !fixed.match(name) &&
        llvm::none_of(still, [&](const NamePatterns &patterns) {
          return patterns.match(name);
        }))
      trained.push_back(state);
  }
  return trained;
}

//===-- settings ----------------------------------------------------------===//

double ParameterSettings::number(StringRef key, double otherwise) const {
  const RecipeObject &holder = holderOf(key);
  if (key == "weight_decay" && !decays && &holder == &optimizer)
    return 0;
  double number = holder.number(key, otherwise);
  return keepsSingle() ? static_cast<float>(number) : number;
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

ParameterGroups::ParameterGroups(ProgramOp program)
    : program(program), recipe(recipeOf(program)) {
  for (const RecipeObject &group : recipe.objects("groups"))
    groups.emplace_back(patternsOf(group, "match"), group);
}

SmallVector<StringRef> ParameterGroups::names(Role role) const {
  SmallVector<StringRef> names;
  for (StateOp state :
       const_cast<ProgramOp &>(program).getBody().getOps<StateOp>())
    if (state.getRole() == role)
      names.push_back(state.getSymName());
  return names;
}

/// `["conv.bais"]`, or the pattern alone among several.
static std::string quotedList(ArrayRef<std::string> patterns) {
  std::string text = "[";
  for (const std::string &pattern : patterns)
    text += (text.size() > 1 ? ", \"" : "\"") + pattern + "\"";
  return text + "]";
}

/// Those of the texts that match one of the names, or else `others`.
static std::vector<std::string> matching(std::vector<std::string> &others,
                                         ArrayRef<StringRef> names) {
  auto isOther = [&](const std::string &text) {
    return llvm::none_of(
        names, [&](StringRef name) { return matchesPattern(text, name); });
  };
  auto middle = std::stable_partition(others.begin(), others.end(), isOther);
  std::vector<std::string> result(middle, others.end());
  others.erase(middle, others.end());
  return result;
}

LogicalResult ParameterGroups::verifyMatches() const {
  SmallVector<StringRef> names = this->names(Role::parameter);
  SmallVector<StringRef> untrained = this->names(Role::buffer);
  SmallVector<StringRef> gone = takenOut(program);
  bool isWrong = false;
  for (const auto &[patterns, group] : groups) {
    std::vector<std::string> unused = patterns.texts();
    matching(unused, names);
    if (auto idle = matching(unused, untrained);
        !idle.empty() && !group.flag("frozen", false))
      group.warning("match") << "has " << quotedList(idle)
                             << ", which names only what is not trained";
    if (auto idle = matching(unused, gone); !idle.empty())
      group.warning("match") << "has " << quotedList(idle)
                             << ", which names only what less_bn or fc_to_fn "
                                "took out of the model";
    if (unused.empty() && !patterns.texts().empty())
      continue;
    bool isMistake = unused.size() == patterns.texts().size() ||
                     !llvm::all_of(unused, isOpenPattern);
    isWrong |= isMistake;
    (isMistake ? group.error("match") : group.warning("match"))
        << "has " << quotedList(unused)
        << ", which names no parameter of the model"
        << (unused.empty() || names.empty()
                ? ""
                : "; it has, nearest first: " +
                      nearestNames(unused.front(), names));
  }
  return failure(isWrong);
}

bool ParameterGroups::isMatrix(StringRef parameter) const {
  StateOp state = const_cast<ProgramOp &>(program).getState(parameter);
  return state && cast<RankedTensorType>(state.getType()).getRank() >= 2;
}

/// That of the last group that has one, else the recipe's. Muon moves matrices
/// alone and leaves embeddings, heads and all else to its `others`.
RecipeObject
ParameterGroups::optimizerOf(StringRef parameter,
                             ArrayRef<RecipeObject> matching) const {
  RecipeObject optimizer = recipe.object("optimizer");
  for (const RecipeObject &group : matching)
    if (group.has("optimizer"))
      optimizer = group.object("optimizer");
  if (optimizer.text("type", "") != "muon")
    return optimizer;
  NamePatterns others =
      patternsOf(optimizer, "others_match",
                 {"*embed*", "*wte*", "*wpe*", "*head*", "*classifier*"});
  StateOp state = const_cast<ProgramOp &>(program).getState(parameter);
  bool isPlane =
      state && cast<RankedTensorType>(state.getType()).getRank() == 2;
  if (isPlane && !others.match(parameter))
    return optimizer;
  return optimizer.object("others");
}

ParameterSettings ParameterGroups::settingsOf(StringRef parameter) const {
  std::vector<RecipeObject> matching;
  for (const auto &[patterns, group] : groups)
    if (patterns.match(parameter))
      matching.push_back(group);
  RecipeObject optimizer = optimizerOf(parameter, matching);
  std::string compat =
      optimizer.text("compat", recipe.text("compat", "pytorch"));
  bool decays =
      recipe.text("weight_decay_for", "all") == "all" || isMatrix(parameter);
  return {optimizer, std::move(matching), compat, decays};
}

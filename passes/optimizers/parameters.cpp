// Matches the recipe's patterns with parameters' names; see parameters.h.

#include "passes/optimizers/parameters.h"

#include "recipe/nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace gradus;

namespace {

/// The names of parameters that the recipe trains.
struct Trained {
  std::vector<std::string> trainable, fixed;
};

enum class DecayFor { all, matrices };

/// The keys that say how parameters move.
struct Moving {
  recipe::Value optimizer;
  std::vector<ParameterGroup> groups;
  DecayFor decayFor = DecayFor::all;
};

recipe::Field groupsKey() {
  using G = ParameterGroup;
  using enum recipe::Kind;
  recipe::Fields keys = {
      recipe::patterns("match", "[]", "the parameters of this group")
          .into(&G::match),
      amount("learning_rate", "null", "instead of the optimizer's")
          .into(&G::learningRate),
      amount("learning_rate_factor", "1.0",
             "times the optimizer's learning rate")
          .into(&G::learningRateFactor),
      amount("weight_decay", "null", "instead of the optimizer's")
          .into(&G::weightDecay),
      flag("frozen", "leave them as they are").into(&G::isFrozen),
      optimizerKey("optimizer", "null",
                   "instead of the recipe's, with all its settings")
          .into(&G::optimizer)};
  return recipe::Field{"groups", list, "[]",
                       "parameters with settings of their own"}
      .of(recipe::Fields{
          recipe::Field{"", object, "{}", "parameters that are treated alike"}
              .of(keys)});
}

} // namespace

const recipe::Fields &gradus::trainedKeys() {
  static const recipe::Fields keys = {
      recipe::patterns("trainable", R"(["*"])", "parameters to train")
          .into(&Trained::trainable),
      recipe::patterns("fixed", "[]",
                       "parameters to keep as they are, though `trainable` "
                       "names them")
          .into(&Trained::fixed)};
  return keys;
}

const recipe::Fields &gradus::movingKeys() {
  static const recipe::Fields keys = {
      optimizerKey("optimizer", R"({"type": "adamw"})",
                   "what moves the parameters")
          .into(&Moving::optimizer),
      groupsKey().into(&Moving::groups),
      recipe::Field{"weight_decay_for", recipe::Kind::choice, "\"all\"",
                    "matrices: none of biases, norms and other vectors, "
                    "unless a group has its own"}
          .among({{"all"}, {"matrices"}})
          .into(&Moving::decayFor)};
  return keys;
}

std::vector<ParameterGroup> gradus::parameterGroups(ProgramOp program) {
  return recipe::read<Moving>(program, movingKeys()).groups;
}

recipe::Value gradus::optimizerOfRecipe(ProgramOp program) {
  return recipe::read<Moving>(program, movingKeys()).optimizer;
}

static bool isFloat(StateOp state) {
  return isa<FloatType>(
      cast<RankedTensorType>(state.getType()).getElementType());
}

std::vector<StateOp> gradus::trainedParameters(ProgramOp program) {
  auto recipe = recipe::read<Trained>(program, trainedKeys());
  NamePatterns trainable(recipe.trainable), fixed(recipe.fixed);
  std::vector<NamePatterns> frozen;
  for (const ParameterGroup &group : parameterGroups(program))
    if (group.isFrozen)
      frozen.emplace_back(group.match);
  std::vector<StateOp> trained;
  for (auto state : program.getBody().getOps<StateOp>()) {
    StringRef name = state.getSymName();
    if (state.getRole() == Role::parameter && isFloat(state) &&
        trainable.match(name) && !fixed.match(name) &&
        llvm::none_of(frozen, [&](const NamePatterns &patterns) {
          return patterns.match(name);
        }))
      trained.push_back(state);
  }
  return trained;
}

//===-- groups ------------------------------------------------------------===//

ParameterGroups::ParameterGroups(ProgramOp program) : program_(program) {
  auto moving = recipe::read<Moving>(program, movingKeys());
  groups_ = std::move(moving.groups);
  optimizer_ = moving.optimizer;
  common_ = optimizer_.as<OptimizerSettings>();
  for (auto state : program.getBody().getOps<StateOp>())
    if (state.getRole() == Role::parameter)
      parameters_[state.getSymName()] = state;
  decaysMatricesAlone_ = moving.decayFor == DecayFor::matrices;
}

SmallVector<StringRef> ParameterGroups::names(Role role) const {
  SmallVector<StringRef> names;
  for (StateOp state :
       const_cast<ProgramOp &>(program_).getBody().getOps<StateOp>())
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

/// Splits texts: returns those that match one of the names, and leaves the rest
/// in `others`.
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
  SmallVector<StringRef> gone = takenOut(program_);
  bool isWrong = false;
  for (const auto &[index, group] : llvm::enumerate(groups_)) {
    std::string key = ("groups[" + Twine(index) + "].match").str();
    std::vector<std::string> unused = group.match;
    matching(unused, names);
    if (auto idle = matching(unused, untrained);
        !idle.empty() && !group.isFrozen)
      recipe::keyWarning(program_, key)
          << "has " << quotedList(idle)
          << ", which names only what is not trained";
    if (auto idle = matching(unused, gone); !idle.empty())
      recipe::keyWarning(program_, key) << "has " << quotedList(idle)
                                        << ", which names only what less_bn or "
                                           "fc_to_fn took out of the model";
    if (unused.empty() && !group.match.empty())
      continue;
    bool isMistake = unused.size() == group.match.size() ||
                     !llvm::all_of(unused, isOpenPattern);
    isWrong |= isMistake;
    (isMistake ? recipe::keyError(program_, key)
               : recipe::keyWarning(program_, key))
        << "has " << quotedList(unused)
        << ", which names no parameter of the model"
        << (unused.empty() || names.empty()
                ? ""
                : "; it has, nearest first: " +
                      nearestNames(unused.front(), names));
  }
  return failure(isWrong);
}

/// The optimizer that moves a parameter: the one of the groups and the recipe,
/// or the one that it leaves the parameter to.
static recipe::Value moverOf(recipe::Value optimizer, StateOp parameter) {
  const Optimizer &mover = optimizerOf(optimizer);
  if (!parameter || !mover.leaves)
    return optimizer;
  return mover.leaves(optimizer, parameter).value_or(optimizer);
}

ParameterSettings ParameterGroups::settingsOf(StringRef parameter) const {
  StateOp state = parameters_.lookup(parameter);
  ParameterSettings settings;
  std::optional<recipe::Number> learningRate, weightDecay;
  settings.own = optimizer_;
  for (const ParameterGroup &group : groups_)
    if (NamePatterns(group.match).match(parameter)) {
      settings.own = group.optimizer.value_or(settings.own);
      settings.learningRateFactor *= group.learningRateFactor;
      settings.isFrozen |= group.isFrozen;
      if (group.learningRate)
        learningRate = group.learningRate;
      if (group.weightDecay)
        weightDecay = group.weightDecay;
    }
  settings.own = moverOf(settings.own, state);
  OptimizerSettings &own = settings.common;
  bool isRecipes = settings.own.where() == optimizer_.where();
  own = isRecipes ? common_ : settings.own.as<OptimizerSettings>();
  bool isMatrix =
      state && cast<RankedTensorType>(state.getType()).getRank() > 1;
  if (decaysMatricesAlone_ && !isMatrix)
    own.weightDecay.initial = 0;
  own.learningRate = learningRate.value_or(own.learningRate);
  own.weightDecay = weightDecay.value_or(own.weightDecay);
  return settings;
}

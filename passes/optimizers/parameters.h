// Chooses the parameters that a recipe trains, and the settings of each: the
// patterns of `trainable`, `fixed` and `groups` against the states' names.
#pragma once

#include "passes/optimizers/optimizer.h"
#include "recipe/patterns.h"

namespace gradus {

/// The keys `trainable`, `fixed`, `optimizer`, `groups`, `weight_decay_for`.
const recipe::Fields &trainedKeys();
const recipe::Fields &movingKeys();

/// The parameters to train, in the order of the program's states: those that
/// `trainable` names and neither `fixed` nor a group with `frozen`.
std::vector<StateOp> trainedParameters(ProgramOp program);

/// One of the recipe's `groups`.
struct ParameterGroup {
  std::vector<std::string> match; // patterns of the parameters' names
  std::optional<recipe::Number> learningRate, weightDecay;
  double learningRateFactor = 1;
  bool isFrozen = false;
  std::optional<recipe::Value> optimizer;
};
std::vector<ParameterGroup> parameterGroups(ProgramOp program);

/// The recipe's own optimizer; groups may have others.
recipe::Value optimizerOfRecipe(ProgramOp program);

/// The settings of one parameter, which is moved by the optimizer of the last
/// group that matches it and has one, else the recipe's, with the learning rate
/// and the weight decay of the last group that has them.
struct ParameterSettings {
  recipe::Value own; // the optimizer and all its keys
  OptimizerSettings common;
  double learningRateFactor = 1; // the product of the groups'
  bool isFrozen = false;

  const Optimizer &optimizer() const { return optimizerOf(own); }
  /// Whether weight decay is to be added to the gradient.
  bool couplesDecay() const {
    return optimizer().couplesDecay && !common.decouplesDecay;
  }
};

/// The recipe's groups, read once for all parameters.
class ParameterGroups {
public:
  explicit ParameterGroups(ProgramOp program);

  /// A group that matches no parameter of the program, or names one in full
  /// that is not there, is an error: it would be trained otherwise than the
  /// recipe says. A pattern with a `*` beside others that match is a warning:
  /// recipes of several models have such. So is one that names only what is not
  /// trained, or what a method took out.
  mlir::LogicalResult verifyMatches() const;

  ParameterSettings settingsOf(llvm::StringRef parameter) const;

private:
  llvm::SmallVector<llvm::StringRef> names(Role role) const;

  ProgramOp program_;
  llvm::StringMap<StateOp> parameters_; // by their names
  std::vector<ParameterGroup> groups_;
  OptimizerSettings common_; // of the recipe's optimizer
  recipe::Value optimizer_;  // the recipe's
  bool decaysMatricesAlone_ = false;
};

} // namespace gradus

// Which parameters a recipe trains and which settings each one gets: the
// patterns of `trainable`, `fixed` and `groups` against the states' names.
#pragma once

#include "passes/recipe.h"

namespace gradus {

/// Patterns in which `*` stands for any text.
class NamePatterns {
public:
  /// Reads a list of patterns; a malformed one is an error at the program.
  static mlir::FailureOr<NamePatterns>
  read(const RecipeObject &recipe, llvm::StringRef key,
       llvm::ArrayRef<llvm::StringRef> otherwise);

  bool match(llvm::StringRef name) const;

private:
  std::vector<std::string> patterns;
};

/// The parameters to train, in the order of the program's states.
mlir::FailureOr<std::vector<StateOp>> trainedParameters(ProgramOp program);

/// The optimizer's settings for one parameter: those of the last group that
/// matches it and has the key, else the optimizer's own.
class ParameterSettings {
public:
  ParameterSettings(RecipeObject optimizer, std::vector<RecipeObject> groups)
      : optimizer(std::move(optimizer)), groups(std::move(groups)) {}

  double number(llvm::StringRef key, double otherwise) const {
    return holderOf(key).number(key, otherwise);
  }
  bool flag(llvm::StringRef key, bool otherwise) const {
    return holderOf(key).flag(key, otherwise);
  }
  llvm::SmallVector<double> numbers(llvm::StringRef key,
                                    llvm::ArrayRef<double> otherwise) const {
    return holderOf(key).numbers(key, otherwise);
  }
  /// The product of the groups' `learning_rate_factor`s.
  double learningRateFactor() const;
  /// An error about a key, where it was set.
  mlir::InFlightDiagnostic error(llvm::StringRef key) const {
    return holderOf(key).error(key);
  }

private:
  const RecipeObject &holderOf(llvm::StringRef key) const;

  RecipeObject optimizer;
  std::vector<RecipeObject> groups; // that match, in the recipe's order
};

/// The recipe's groups with their patterns, read once for all parameters.
class ParameterGroups {
public:
  /// Warns of a group that matches no parameter of the program.
  static mlir::FailureOr<ParameterGroups> read(ProgramOp program);

  ParameterSettings settingsOf(llvm::StringRef parameter) const;

private:
  ParameterGroups(RecipeObject optimizer) : optimizer(std::move(optimizer)) {}

  RecipeObject optimizer;
  std::vector<std::pair<NamePatterns, RecipeObject>> groups;
};

} // namespace gradus

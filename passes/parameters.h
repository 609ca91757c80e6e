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
  const std::vector<std::string> &texts() const { return patterns; }

private:
  std::vector<std::string> patterns;
};

/// The names that are most like a pattern, nearest first: "fc1.weight, fc1.bias
/// and 54 more".
std::string nearestNames(llvm::StringRef pattern,
                         llvm::ArrayRef<llvm::StringRef> names);

/// The parameters to train, in the order of the program's states: those that
/// `trainable` names and neither `fixed` nor a group with `frozen`.
mlir::FailureOr<std::vector<StateOp>> trainedParameters(ProgramOp program);

/// The optimizer's settings for one parameter: those of the last group that
/// matches it and has the key, else its optimizer's.
class ParameterSettings {
public:
  ParameterSettings(RecipeObject optimizer, std::vector<RecipeObject> groups,
                    std::string compat, bool decays)
      : optimizer(std::move(optimizer)), groups(std::move(groups)),
        compat(std::move(compat)), decays(decays) {}

  double number(llvm::StringRef key, double otherwise) const;
  bool flag(llvm::StringRef key, bool otherwise) const {
    return holderOf(key).flag(key, otherwise);
  }
  std::string text(llvm::StringRef key, llvm::StringRef otherwise) const {
    return holderOf(key).text(key, otherwise);
  }
  llvm::SmallVector<double> numbers(llvm::StringRef key,
                                    llvm::ArrayRef<double> otherwise) const {
    return holderOf(key).numbers(key, otherwise);
  }
  bool has(llvm::StringRef key) const { return holderOf(key).has(key); }
  /// The product of the groups' `learning_rate_factor`s.
  double learningRateFactor() const;
  /// "adamw".
  std::string type() const { return optimizer.text("type", ""); }
  /// Whether the rules of "singa", "mindspore" or "timm" apply where they
  /// differ from PyTorch's.
  bool follows(llvm::StringRef framework) const { return compat == framework; }
  /// Whether hyperparameters are numbers of f32, as SINGA's and MindSpore's.
  bool keepsSingle() const { return follows("singa") || follows("mindspore"); }
  /// An error about a key, where it was set.
  mlir::InFlightDiagnostic error(llvm::StringRef key) const {
    return holderOf(key).error(key);
  }

private:
  const RecipeObject &holderOf(llvm::StringRef key) const;

  RecipeObject optimizer;
  std::vector<RecipeObject> groups; // that match, in the recipe's order
  std::string compat;
  bool decays; // unless a group says otherwise
};

/// The recipe's groups with their patterns, read once for all parameters.
class ParameterGroups {
public:
  static mlir::FailureOr<ParameterGroups> read(ProgramOp program);

  /// A group that matches no parameter of the program, or names one in full
  /// that is not there, is an error: it would be trained otherwise than the
  /// recipe says. A pattern with a `*` beside others that match is a warning:
  /// recipes of several models have such. So is one that names only what is not
  /// trained, or what a method took out.
  mlir::LogicalResult verifyMatches() const;

  ParameterSettings settingsOf(llvm::StringRef parameter) const;

private:
  ParameterGroups(ProgramOp program)
      : program(program), recipe(recipeOf(program)) {}
  llvm::SmallVector<llvm::StringRef> names(Role role) const;
  RecipeObject optimizerOf(llvm::StringRef parameter,
                           llvm::ArrayRef<RecipeObject> matching) const;
  bool isMatrix(llvm::StringRef parameter) const;

  ProgramOp program;
  RecipeObject recipe;
  std::vector<std::pair<NamePatterns, RecipeObject>> groups;
};

} // namespace gradus

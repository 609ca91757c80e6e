// Which parameters a recipe trains and which settings each one gets: the
// patterns of `trainable`, `fixed` and `groups` against the states' names.
#pragma once

#include "passes/recipe.h"
#include "recipe/patterns.h"

namespace gradus {

/// The patterns of names under a key of the recipe.
NamePatterns patternsOf(const RecipeObject &recipe, llvm::StringRef key,
                        llvm::ArrayRef<llvm::StringRef> otherwise = {});

/// The parameters to train, in the order of the program's states: those that
/// `trainable` names and neither `fixed` nor a group with `frozen`.
std::vector<StateOp> trainedParameters(ProgramOp program);

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
  RecipeObject optimizerOf(llvm::StringRef parameter,
                           llvm::ArrayRef<RecipeObject> matching) const;
  bool isMatrix(llvm::StringRef parameter) const;

  ProgramOp program;
  RecipeObject recipe;
  std::vector<std::pair<NamePatterns, RecipeObject>> groups;
};

} // namespace gradus

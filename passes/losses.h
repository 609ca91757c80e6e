// Losses: what a recipe's `loss` says of a model, and the formula of each type.
//
// read_losses.cpp makes a Loss of the recipe and the model; losses.cpp holds
// the table of types and writes a Loss as ops. A new type is a function and a
// line of the table, and its keys in frontends/recipe/loss_fields.cpp.
#pragma once

#include "passes/recipe.h"

#include <optional>

namespace gradus {

struct LossType;

/// What a loss compares the model's output with.
enum class Labels {
  none,    // nothing: the output is the loss
  classes, // one class for each place along the class axis, i64
  values,  // numbers of the output's shape and type
};

/// How the elements of a loss become one number.
enum class LossReduction {
  mean,      // over what counts, as PyTorch defines it
  sum,       //
  batchMean, // the sum, divided by the number of samples
};

/// One loss, checked against the model. `recipe` has the keys that are the
/// type's own.
struct Loss {
  RecipeObject recipe;
  const LossType *type = nullptr;
  unsigned output = 0; // its number among the model's outputs
  std::string outputName = {};
  mlir::RankedTensorType outputType = {};
  bool isPerSample = false; // the output's first axis counts the samples
  std::string label = {};   // the input that the labels come in; "" for none
  LossReduction reduction = LossReduction::mean;
  double weight = 1;
  int64_t classAxis = 0;      // 0 <= classAxis < rank; where labels are classes
  int64_t ignoreIndex = -100; // the class that does not count
  llvm::SmallVector<double> classWeights = {}; // empty: all are 1

  llvm::StringRef typeName() const;
  Labels labels() const;
  /// The type of the labels; null for none.
  mlir::RankedTensorType labelType() const;
  int64_t classes() const { return outputType.getDimSize(classAxis); }
  /// Whether padding after a batch's real samples can be kept out of it.
  bool masksPadding() const { return isPerSample; }
};

/// The names of all types, for errors.
llvm::SmallVector<llvm::StringRef> lossTypeNames();
/// Null if there is none of this name.
const LossType *findLossType(llvm::StringRef name);

/// The losses that a recipe's `loss` adds up: one, or those of a sum. Errors
/// name the recipe's key.
mlir::FailureOr<std::vector<Loss>> readLosses(GraphOp model,
                                              RecipeObject recipe);

/// In how many classes the labels of the program's input `label` fall; 0 if
/// they are not classes.
int64_t labelClasses(ProgramOp program);

/// The labels with padding, all but the first `count` samples, made harmless;
/// `output` has the type of the loss's output.
mlir::Value maskLabels(mlir::OpBuilder &builder, mlir::Location loc,
                       const Loss &loss, mlir::Value label, mlir::Value count);

/// The loss as one number, times its weight. With `count`, an i64 scalar, it
/// is that of the first `count` samples, and `label` has been masked.
mlir::Value buildLoss(mlir::OpBuilder &builder, mlir::Location loc,
                      const Loss &loss, mlir::Value output, mlir::Value label,
                      mlir::Value count);

} // namespace gradus

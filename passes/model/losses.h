// Losses: what a recipe's `loss` says of a model, and the formula of each type.
//
// read_losses.cpp makes a Loss of the recipe and the model; losses.cpp holds
// the table of types, with their keys and formulas. A new type is a function
// and a line of the table.
#pragma once

#include "passes/model/loss_ranks.h"
#include "recipe/settings.h"

#include <optional>

namespace gradus {

struct LossType;

/// The thing that a loss compares the model's output with.
enum class Labels {
  none,    // nothing: the output is the loss
  classes, // one class for each index along the class axis, i64
  values,  // numbers of the output's shape and type
};

/// The way in which the elements of a loss become one number.
enum class LossReduction {
  mean,      // over what counts, as PyTorch defines it
  sum,       //
  batchMean, // the sum, divided by the number of samples
};

/// Settings of every loss.
struct LossSettings {
  std::optional<std::string> output, label; // names; nothing: the only one
  double weight = 1;
  LossReduction reduction = LossReduction::mean;
  std::optional<int64_t> classAxis; // may count from the end
  int64_t ignoreIndex = -100;       // the class that does not count
  std::vector<double> classWeights; // empty: all are 1
};

/// Settings of the formulas of some types.
struct FormulaSettings {
  double labelSmoothing = 0;
  bool hasSoftLabels = false;          // probabilities of the classes
  double margin = 1;                   // the distance that costs nothing
  int64_t power = 1;                   // of the distances
  double bend = 1;                     // where a parabola ends: beta, delta
  std::vector<double> positiveWeights; // of labels that are 1; empty: 1
  bool hasLogTarget = false;           // labels are logarithms
};

/// One loss, checked against the model.
struct Loss {
  Loss(ProgramOp program, const recipe::Value &own);

  ProgramOp program;
  std::string path; // in the recipe
  LossSettings settings;
  FormulaSettings formula;
  const LossType *type;
  unsigned output = 0; // its number among the model's outputs
  std::string outputName = {};
  mlir::RankedTensorType outputType = {};
  bool isPerSample = false; // the output's first axis counts the samples
  std::string label = {};   // the input that the labels come in; "" for none
  int64_t classAxis = 0;    // 0 <= classAxis < rank; where labels are classes

  llvm::StringRef typeName() const;
  Labels labels() const;
  /// The type of the labels; null for none.
  mlir::RankedTensorType labelType() const;
  int64_t classes() const { return outputType.getDimSize(classAxis); }
  /// Whether padding after a batch's real samples can be kept out of it.
  bool masksPadding() const { return isPerSample; }
  /// An error about one of its keys.
  mlir::InFlightDiagnostic error(llvm::StringRef key) const {
    return recipe::keyError(program, path + "." + key);
  }
};

/// The keys `loss` and `metrics`.
const recipe::Field &lossKey();
const recipe::Field &metricsKey();
std::vector<std::string> metricsOf(ProgramOp program);

/// The losses that the recipe adds up: one, or those of a sum; none without a
/// `loss`. Errors name the recipe's key.
mlir::FailureOr<std::vector<Loss>> readLosses(ProgramOp program, GraphOp model);
/// Whether the recipe has a `loss`.
bool hasLoss(ProgramOp program);
/// The output that `loss` names; "" if it names none.
std::string lossOutput(ProgramOp program);

/// Returns the number of classes of the program's input `label`; 0 if its
/// labels are no classes.
int64_t labelClasses(ProgramOp program);

/// The labels with padding, all but the first `count` samples, made harmless;
/// `output` has the type of the loss's output.
mlir::Value maskLabels(mlir::OpBuilder &builder, mlir::Location loc,
                       const Loss &loss, mlir::Value label, mlir::Value count);

/// The loss as one number, times its weight. With `count`, an i64 scalar, it
/// is that of the first `count` samples, and `label` has been masked. With
/// `ranks`, its mean over them is the loss of all their samples.
mlir::Value buildLoss(mlir::OpBuilder &builder, mlir::Location loc,
                      const Loss &loss, mlir::Value output, mlir::Value label,
                      mlir::Value count, LossRanks ranks = {});

/// A mean over the labels that count, such as an accuracy, scaled so that its
/// mean over ranks is that over the labels of all. A rank on which none counts
/// adds 0.
mlir::Value shareMean(mlir::OpBuilder &builder, mlir::Location loc,
                      const Loss &loss, mlir::Value label, mlir::Value mean,
                      LossRanks ranks);

} // namespace gradus

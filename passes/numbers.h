// Numbers of the recipe in the graph: each is a state, so that it may be set
// while training.
#pragma once

#include "ir/arithmetic.h"
#include "passes/state.h"
#include "recipe/settings.h"

namespace gradus {

/// The attribute of a number's state: its range, [minimum, limit). The minimum
/// is finite, by which the runtime knows numbers from states of models.
constexpr llvm::StringLiteral kRange = "range";

/// A number of the recipe as a scalar of f64: the state of the role
/// `hyperparameter` under the number's path, such as @optimizer.learning_rate.
/// It is a constant where the recipe says `"settable": false`, or where it is
/// 0: passes leave out what 0 switches off. A 0 that its range excludes is a
/// number that is yet to be set. Null with an error where the model has a state
/// of that name.
mlir::Value readNumber(mlir::OpBuilder &builder, mlir::Location loc,
                       States &states, const recipe::Number &number);
/// The same where no States is at hand.
mlir::Value readNumber(mlir::OpBuilder &builder, mlir::Location loc,
                       ProgramOp program, const recipe::Number &number);

/// Returns the number in all elements of a constant of floats; nothing for
/// other values.
std::optional<double> knownNumber(mlir::Value value);

/// A scalar in every element of a tensor like another.
mlir::Value spreadLike(const Arithmetic &math, mlir::Value scalar,
                       mlir::Value like);

/// Returns the value of a scalar before any number is set, if it follows from
/// constants and numbers alone.
std::optional<double> initialValue(const States &states, mlir::Value scalar);

} // namespace gradus

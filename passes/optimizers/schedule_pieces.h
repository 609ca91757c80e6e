// Pieces of schedules: their kinds, each with its keys and its formula, a
// factor on a hyperparameter. docs/schedules.md has the formulas.
#pragma once

#include "passes/optimizers/piece_lengths.h"

#include <functional>
#include <numbers>

namespace gradus {

/// The values that a piece is computed from, scalars of f64.
struct SchedulePiece {
  const Arithmetic &math;
  const RunLength &run;
  mlir::Value step;      // from the start of the piece, in its units
  mlir::Value steps;     // how long it is in these units; null if it goes on
  mlir::Value tick;      // the units of one update, or 1 where they are whole
  bool isSingle = false; // its numbers are of f32

  mlir::Value number(double value) const { return math.number(value, step); }
  /// A number of the recipe.
  double rounded(double value) const {
    return isSingle ? static_cast<float>(value) : value;
  }
  mlir::Value length() const { return steps ? steps : number(1); }
  /// Returns the progress: 0 at its start, 1 at its end.
  mlir::Value progress() const { return math.divide(step, length()); }
  /// base^exponent.
  mlir::Value power(double base, mlir::Value exponent) const {
    return math.power(number(base), exponent);
  }
  /// Returns the point between `from` and `to` at `progress`, which goes from 0
  /// to 1.
  mlir::Value line(double from, double to, mlir::Value progress) const {
    return math.add(number(from), math.multiply(number(to - from), progress));
  }
  mlir::Value halfWave(double from, double to, mlir::Value progress) const {
    mlir::Value angle = math.multiply(number(std::numbers::pi), progress);
    mlir::Value wave = math.add(number(1), math.cosine(angle));
    return math.add(number(to), math.multiply(number((from - to) / 2), wave));
  }
};

/// A kind of piece: its keys, and its formula of what they fill.
struct PieceKind {
  std::string_view name;
  recipe::Fields keys;
  std::function<mlir::Value(const SchedulePiece &, const recipe::Value &own)>
      factor;
  /// The key without which its formula has its length in it; "" for a formula
  /// that always has.
  std::optional<std::string_view> insteadOfSteps = {};
  bool countsFromEnd = false; // of an update, as `at_end` does
};

/// The kind that a piece of the recipe has.
const PieceKind &pieceKindOf(const recipe::Value &piece);
/// All kinds, for the recipe's table of keys.
std::vector<recipe::Choice> pieceChoices();

/// Finds keys of a piece that do not fit together, its length aside.
FoundMistake pieceMistake(const recipe::Value &piece);

/// Whether a piece, or a factor of it, follows from the length of the run.
bool isOfRun(const recipe::Value &piece);

/// Whether the formula of a piece has its length in it.
bool needsLength(const recipe::Value &piece);

} // namespace gradus

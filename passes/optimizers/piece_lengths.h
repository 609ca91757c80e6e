// Computes how long the pieces of a schedule are: in updates, in epochs, as a
// fraction of the run, or what the others leave of it.
#pragma once

#include "passes/optimizers/run_length.h"
#include "recipe/piece_timing.h"

namespace gradus {

const recipe::Keys<PieceTiming> &timingKeys();

/// The span of a piece in a run. Values are scalars of f64.
struct PieceLength {
  mlir::Value first;     // the update at which it begins
  mlir::Value unit;      // updates that count as one
  mlir::Value steps;     // its length in these units; null if it goes on
  bool isSmooth = false; // parts of a unit count, too
  bool isAtEnd = false;  // an update counts where it ends

  /// Returns the step in which it counts: 1, or the part of a unit that one
  /// update is.
  mlir::Value tick(const Arithmetic &math) const {
    mlir::Value one = math.number(1, unit);
    return isSmooth ? math.divide(one, unit) : one;
  }

  /// From its start at an update, in its units, held at its end.
  mlir::Value since(const Arithmetic &math, mlir::Value update) const;
};

/// A mistake in a piece, by the path of its key.
struct PieceMistake {
  std::string path, words;
};
using FoundMistake = std::optional<PieceMistake>;

/// Finds pieces of a list that do not say how long they are; the last may go on
/// where its formula has no length.
FoundMistake lengthMistake(llvm::ArrayRef<recipe::Value> pieces);
/// The same of a factor of a product, which may go on, too. Its length is in
/// units of the product, so one in epochs needs a product that counts updates.
FoundMistake factorLengthMistake(const recipe::Value &factor,
                                 bool productCountsUpdates);

/// The lengths of pieces that follow one another, which were verified; `like`
/// is a scalar of f64.
llvm::SmallVector<PieceLength>
pieceLengths(const Arithmetic &math, const RunLength &run,
             llvm::ArrayRef<recipe::Value> pieces, mlir::Value like);

} // namespace gradus

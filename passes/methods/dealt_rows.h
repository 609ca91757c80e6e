// Rows of a matrix that ranks share out: each has as many as the others, one
// after the other, and the last ones have rows of zeros behind the end.
#pragma once

#include "passes/distribution.h"

namespace gradus {

/// The rows of a matrix, and the ranks that have them.
struct DealtRows {
  int64_t count = 0; // of the matrix
  int64_t ranks = 1;

  bool areDealt() const { return ranks > 1; }
  /// The rows that each rank has.
  int64_t ofRank() const;

  /// Makes a state with the rows of a matrix, its first axis, a rank's own part
  /// of it.
  void deal(StateOp rows) const;

  /// Puts together the numbers of all rows, [count], on all ranks alike: each
  /// gives those of its own rows, [ofRank()]. They are exact, as a sum adds
  /// zeros to each.
  mlir::Value ofAll(const Arithmetic &math, mlir::Value own,
                    mlir::Value rank) const;
  /// Takes the numbers of the rank's own rows, [ofRank()], from those of all,
  /// [count]. Rows behind the end get 0.
  mlir::Value ofOwn(const Arithmetic &math, mlir::Value all,
                    mlir::Value rank) const;
};

} // namespace gradus

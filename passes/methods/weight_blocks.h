// A weight as a matrix, and products of it with matrices of diagonal blocks.
#pragma once

#include "ir/arithmetic.h"

namespace gradus {

/// The features of one side of a layer, cut into blocks: `groups` parts of
/// `features` features, each part into blocks of which the last may be partly
/// padding. What has them is [groups count, size, size].
struct Blocks {
  int64_t features, groups;
  int64_t count, size; // of a part

  /// Returns the blocks that a side's features lie in, by the type of its
  /// factor.
  static Blocks of(mlir::RankedTensorType factor, int64_t features,
                   int64_t groups);
  int64_t padded() const { return count * size; }
};

/// A weight's matrices have this beside what its axes say.
struct MatrixForm {
  bool groupsInputs = false; // else groups are parts of the outputs
  bool joinsBias = false;
};

/// A weight as one matrix a group, [groups, rows, columns]: the outputs by the
/// inputs, or the other way around where the weight lies so or groups are parts
/// of the inputs. A bias that joins it is the weight of the last input.
class WeightMatrix {
public:
  /// `inputAxes` are those of the weight that count inputs, in the order of
  /// their features.
  WeightMatrix(mlir::RankedTensorType weight, llvm::ArrayRef<int64_t> inputAxes,
               int64_t groups, MatrixForm form = {});
  /// The form of a weight whose sides the factors are.
  explicit WeightMatrix(FactorsOp factors);

  int64_t groups() const { return groups_; }
  int64_t inputs() const { return inputs_ + joinsBias_; } // of a group
  int64_t outputs() const { return outputs_; }            // of a group
  bool rowsAreInputs() const { return rowsAreInputs_; }

  /// The matrix of a weight, and of the bias that joins it; 0 in the place of
  /// one that is null, where not both are.
  mlir::Value ofWeight(const Arithmetic &math, mlir::Value weight,
                       mlir::Value bias = {}) const;
  mlir::Value toWeight(const Arithmetic &math, mlir::Value matrix) const;
  /// The bias, [outputs of all groups].
  mlir::Value toBias(const Arithmetic &math, mlir::Value matrix) const;

private:
  llvm::SmallVector<int64_t> shapeFor(int64_t inputs) const;
  mlir::Value part(const Arithmetic &math, mlir::Value matrix, int64_t first,
                   int64_t count) const;

  mlir::RankedTensorType type_;
  llvm::SmallVector<int64_t>
      order_; // the weight's axes, as the matrix has them
  int64_t groups_, inputs_ = 1, outputs_ = 1;
  bool rowsAreInputs_, joinsBias_;
};

/// The blocks times the rows of `matrix`, [groups, rows, columns].
mlir::Value multiplyRows(const Arithmetic &math, Blocks blocks,
                         mlir::Value diagonal, mlir::Value matrix);
/// The columns of `matrix` times the blocks.
mlir::Value multiplyColumns(const Arithmetic &math, Blocks blocks,
                            mlir::Value matrix, mlir::Value diagonal);

/// The matrix of a weight times the blocks of one of its sides.
mlir::Value timesSide(const Arithmetic &math, const WeightMatrix &form,
                      bool isInputs, mlir::Value matrix, mlir::Value diagonal);
/// Multiplies the gradient of a weight by the blocks of one of its sides, in
/// f32; no bias joins it.
void multiplyGradient(const Arithmetic &math, ParameterUpdate update,
                      FactorsOp factors, bool isInputs, mlir::Value diagonal);

/// Adds `damping`, a scalar, to the diagonal of each block; padding gets 1
/// there.
mlir::Value damped(const Arithmetic &math, Blocks blocks, mlir::Value factor,
                   mlir::Value damping);
/// The mean of the diagonal, without padding, as a scalar.
mlir::Value meanOfDiagonal(const Arithmetic &math, Blocks blocks,
                           mlir::Value factor);
/// The inverses of the blocks as if each were its mean eigenvalue alone, with
/// `damping`; 0 where that is not finite.
mlir::Value inversesOfMeans(const Arithmetic &math, mlir::Value factor,
                            mlir::Value damping);
/// Returns a boolean for each block: whether all its elements are finite.
mlir::Value areFinite(const Arithmetic &math, mlir::Value blocks);

struct BlockInverses {
  mlir::Value values;
  mlir::Value areOwn; // a boolean for each block: whether it was inverted
};
/// The inverses of blocks with `damping`, times `scale`. A block that is not
/// positive definite, as far as rounding can tell, keeps its `old` inverse, or
/// has that of its mean eigenvalue if the old one is 0.
BlockInverses inversesOf(const Arithmetic &math, Blocks blocks,
                         mlir::Value factor, mlir::Value damping,
                         mlir::Value old, double scale = 1);

} // namespace gradus

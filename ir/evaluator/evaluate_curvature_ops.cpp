// The reference evaluation of second moments and of inverses.

#include "ir/evaluator/evaluator.h"
#include "ir/evaluator/row_major.h"
#include "ir/gram_sizes.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

//===-- gram --------------------------------------------------------------===//

/// The element of the input that is column `channel`, `tap` of a row, or -1 in
/// the padding.
static int64_t offsetIn(GramOp op, const GramSizes &sizes,
                        ArrayRef<int64_t> shape, ArrayRef<int64_t> row,
                        int64_t channel, ArrayRef<int64_t> tap) {
  SmallVector<int64_t> index(row);
  index.insert(index.begin() + sizes.axis, channel);
  if (!op.getWindow())
    return offsetOf(index, shape);
  Window window = windowOf(op, *op.getWindow());
  for (int64_t d = 0; d < window.rank(); ++d) {
    int64_t &at = index[2 + d];
    at = window.inputIndex(d, at, tap[d]);
    if (at < 0 || at >= shape[2 + d])
      return -1;
  }
  return offsetOf(index, shape);
}

/// Adds the products of a row's columns to the blocks of one part.
static void addProducts(const GramSizes &sizes, ArrayRef<double> columns,
                        double *result) {
  int64_t b = sizes.block;
  for (int64_t i = 0; i < sizes.columns; ++i)
    for (int64_t j = i / b * b; j < std::min((i / b + 1) * b, sizes.columns);
         ++j)
      result[i * b + j % b] += columns[i] * columns[j];
}

Results GramOp::evaluate(ArrayRef<HostTensor> operands) {
  GramSizes sizes(*this);
  const HostTensor &input = operands[0];
  HostTensor result = zeros(getType());
  std::vector<double> columns(sizes.columns);
  forEachIndex(sizes.rows, [&](ArrayRef<int64_t> row) {
    for (int64_t group = 0; group < sizes.groups; ++group) {
      int64_t column = 0;
      for (int64_t c = 0; c < sizes.channels; ++c)
        forEachIndex(sizes.taps, [&](ArrayRef<int64_t> tap) {
          int64_t at = offsetIn(*this, sizes, input.shape, row,
                                group * sizes.channels + c, tap);
          columns[column++] = at < 0 ? 0 : input.floats[at];
        });
      addProducts(
          sizes, columns,
          &result.floats[group * sizes.blocks * sizes.block * sizes.block]);
    }
  });
  for (double &sum : result.floats)
    sum /= sizes.count();
  return SmallVector<HostTensor>{std::move(result)};
}

//===-- inverse -----------------------------------------------------------===//

/// Writes the inverse of the factor L of M = L L^T, both [n, n], to `inverse`;
/// returns whether M is positive definite. Reads M on and above the diagonal.
static bool invertFactor(const double *matrix, int64_t n,
                         std::vector<double> &inverse) {
  std::vector<double> factor(n * n, 0);
  inverse.assign(n * n, 0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double rest = matrix[j * n + i];
      for (int64_t p = 0; p < j; ++p)
        rest -= factor[i * n + p] * factor[j * n + p];
      if (i == j && !(rest > 0 && rest < INFINITY))
        return false;
      factor[i * n + j] = i == j ? std::sqrt(rest) : rest / factor[j * n + j];
    }
    for (int64_t j = 0; j <= i; ++j) {
      double rest = i == j;
      for (int64_t p = j; p < i; ++p)
        rest -= factor[i * n + p] * inverse[p * n + j];
      inverse[i * n + j] = rest / factor[i * n + i];
    }
  }
  return true;
}

Results InverseOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = operands[0];
  int64_t n = getType().getShape().back();
  std::vector<double> factor;
  for (int64_t first = 0; first < result.size(); first += n * n) {
    double *to = &result.floats[first];
    bool isInvertible = invertFactor(&operands[0].floats[first], n, factor);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = isInvertible ? 0 : NAN;
        for (int64_t p = std::max(i, j); p < n && isInvertible; ++p)
          sum += factor[p * n + i] * factor[p * n + j];
        to[i * n + j] = sum;
      }
  }
  return SmallVector<HostTensor>{std::move(result)};
}

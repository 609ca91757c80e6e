// The reference evaluation of attention and its gradient, one query at a time.

#include "ir/attention_sizes.h"
#include "ir/dropout.h"
#include "ir/evaluator/evaluator.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

namespace {

/// Row `row` of a tensor whose rows have `width` elements.
double *rowOf(HostTensor &tensor, int64_t row, int64_t width) {
  return &tensor.floats[row * width];
}
const double *rowOf(const HostTensor &tensor, int64_t row, int64_t width) {
  return &tensor.floats[row * width];
}

double dot(const double *a, const double *b, int64_t width) {
  double total = 0;
  for (int64_t i = 0; i < width; ++i)
    total += a[i] * b[i];
  return total;
}

void addTimes(double *sum, double factor, const double *row, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    sum[i] += factor * row[i];
}

/// The scores of a forward or backward op.
template <typename Op> struct Scores {
  Scores(Op op, ArrayRef<HostTensor> operands)
      : sizes(op.getQuery(), op.getValue()),
        scale(op.getScale().convertToDouble()), causal_(op.getCausal()),
        stream_(op.getStream()), seed_(op.getSeed()), query_(operands[0]),
        key_(operands[1]) {
    // The mask, the step and the first place are the last operands.
    if (op.getFirst()) {
      first_ = operands.back().integers[0];
      operands = operands.drop_back();
    }
    if (op.getStep()) {
      step_ = &operands.back();
      operands = operands.drop_back();
      dropping_.ratio = op.getDropout()->convertToDouble();
    }
    if (op.getMask())
      mask_ = &operands.back();
  }

  /// The scores of one query; `row` counts queries through all heads.
  std::vector<double> of(int64_t row) const {
    std::vector<double> scores(sizes.keys);
    int64_t head = row / sizes.queries, w = sizes.width;
    for (int64_t j = 0; j < sizes.keys; ++j)
      scores[j] = masked(scale * dot(rowOf(query_, row, w),
                                     rowOf(key_, head * sizes.keys + j, w), w),
                         row, j);
    return scores;
  }

  /// The factor that dropout applies to a query's probability of key j.
  double factor(int64_t row, int64_t j) const {
    if (!step_)
      return 1;
    uint64_t offset = first_ + row * sizes.keys + j;
    uint32_t bits =
        Philox::rounds({uint32_t(offset), uint32_t(offset >> 32),
                        uint32_t(step_->integers[0]), uint32_t(stream_)},
                       uint32_t(seed_), uint32_t(seed_ >> 32))[0];
    return bits < dropping_.limit() ? 0 : dropping_.factor();
  }

  AttentionSizes sizes;
  double scale;

private:
  double masked(double score, int64_t row, int64_t j) const {
    int64_t i = row % sizes.queries;
    if (mask_) {
      int64_t offset = offsetInMask(row, j);
      if (mask_->isFloat)
        score += mask_->floats[offset];
      else if (!mask_->integers[offset])
        score = -INFINITY;
    }
    return causal_ && j > i ? -INFINITY : score;
  }

  int64_t offsetInMask(int64_t row, int64_t j) const {
    int64_t head = row / sizes.queries, offset = 0;
    int64_t index[] = {head / sizes.heads, head % sizes.heads,
                       row % sizes.queries, j};
    for (auto [at, size] : llvm::zip(index, mask_->shape))
      offset = offset * size + (size == 1 ? 0 : at);
    return offset;
  }

  bool causal_;
  uint64_t stream_, seed_, first_ = 0;
  Dropping dropping_{0};
  const HostTensor &query_, &key_, *mask_ = nullptr, *step_ = nullptr;
};

/// The logarithm of the sum of exponentials, rounded, and the remainder that
/// rounding removed; 0 where all are -inf.
struct LogSumExp {
  double rounded = 0, remainder = 0;

  explicit LogSumExp(ArrayRef<double> scores);
  double probability(double score) const {
    return std::exp(score - rounded - remainder);
  }
};

LogSumExp::LogSumExp(ArrayRef<double> scores) {
  double largest = -INFINITY, total = 0;
  for (double score : scores)
    largest = std::isnan(score) ? score : std::fmax(largest, score);
  if (largest == -INFINITY)
    return;
  for (double score : scores)
    total += std::exp(score - largest);
  rounded = largest + std::log(total);
  remainder = std::log(total) - (rounded - largest);
}

} // namespace

Results AttentionOp::evaluate(ArrayRef<HostTensor> operands) {
  Scores<AttentionOp> scores(*this, operands);
  const AttentionSizes &s = scores.sizes;
  HostTensor result = zeros(tensorType(getResult())),
             logarithms = zeros(tensorType(getLogsumexp())),
             remainders = logarithms;
  for (int64_t row = 0; row < logarithms.size(); ++row) {
    std::vector<double> own = scores.of(row);
    LogSumExp all(own);
    logarithms.floats[row] = all.rounded;
    remainders.floats[row] = all.remainder;
    for (int64_t j = 0; j < s.keys; ++j)
      addTimes(rowOf(result, row, s.depth),
               all.probability(own[j]) * scores.factor(row, j),
               rowOf(operands[2], row / s.queries * s.keys + j, s.depth),
               s.depth);
  }
  return SmallVector<HostTensor>{std::move(result), std::move(logarithms),
                                 std::move(remainders)};
}

Results AttentionBackwardOp::evaluate(ArrayRef<HostTensor> operands) {
  Scores<AttentionBackwardOp> scores(*this, operands);
  const AttentionSizes &s = scores.sizes;
  const HostTensor &query = operands[0], &key = operands[1],
                   &value = operands[2], &logarithms = operands[3],
                   &remainders = operands[4], &g = operands[5],
                   &delta = operands[6];
  HostTensor dQuery = zeros(tensorType(getQuery())),
             dKey = zeros(tensorType(getKey())),
             dValue = zeros(tensorType(getValue()));
  for (int64_t row = 0; row < logarithms.size(); ++row) {
    std::vector<double> own = scores.of(row);
    for (int64_t j = 0; j < s.keys; ++j) {
      int64_t column = row / s.queries * s.keys + j;
      double rest = own[j] - logarithms.floats[row] - remainders.floats[row],
             p = std::exp(std::min(rest, 0.0)), // NaN stays NaN.
          z = scores.factor(row, j);
      double slope = p * (z * dot(rowOf(g, row, s.depth),
                                  rowOf(value, column, s.depth), s.depth) -
                          delta.floats[row]);
      addTimes(rowOf(dValue, column, s.depth), z * p, rowOf(g, row, s.depth),
               s.depth);
      addTimes(rowOf(dQuery, row, s.width), scores.scale * slope,
               rowOf(key, column, s.width), s.width);
      addTimes(rowOf(dKey, column, s.width), scores.scale * slope,
               rowOf(query, row, s.width), s.width);
    }
  }
  return SmallVector<HostTensor>{std::move(dQuery), std::move(dKey),
                                 std::move(dValue)};
}

// The reference evaluation of convolutions, pools, losses and metrics.

#include "ir/evaluator/evaluator.h"
#include "ir/evaluator/row_major.h"
#include "ir/window.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

static Results single(HostTensor tensor) {
  return SmallVector<HostTensor>{std::move(tensor)};
}

//===-- windows -----------------------------------------------------------===//

/// Calls `visit(index in the input, index in the window)` for each element of
/// the input [spatial...] under the window at `output`, in row-major order.
template <typename Visit>
static void forEachTap(const Window &window, ArrayRef<int64_t> output,
                       ArrayRef<int64_t> inputSizes, Visit visit) {
  SmallVector<int64_t> at(window.rank());
  forEachIndex(window.size, [&](ArrayRef<int64_t> tap) {
    for (int64_t d = 0; d < window.rank(); ++d) {
      at[d] = window.inputIndex(d, output[d], tap[d]);
      if (at[d] < 0 || at[d] >= inputSizes[d])
        return;
    }
    visit(ArrayRef<int64_t>(at), tap);
  });
}

static SmallVector<int64_t> join(int64_t first, int64_t second,
                                 ArrayRef<int64_t> rest) {
  SmallVector<int64_t> all = {first, second};
  all.append(rest.begin(), rest.end());
  return all;
}

//===-- convolution -------------------------------------------------------===//

namespace {
/// The shapes of input, weight and output, which all three ops have.
struct Convolution {
  ArrayRef<int64_t> x, w, y;
  Window window;
};
} // namespace

/// Calls `visit(x, w, y)` with the offsets in input, weight and output of each
/// multiplication of a convolution.
template <typename Visit>
static void forEachProduct(const Convolution &c, Visit visit) {
  int64_t filtersPerGroup = c.w[0] / (c.x[1] / c.w[1]);
  int64_t y = 0;
  forEachIndex(c.y, [&](ArrayRef<int64_t> out) {
    int64_t firstChannel = out[1] / filtersPerGroup * c.w[1];
    for (int64_t i = 0; i < c.w[1]; ++i)
      forEachTap(c.window, out.drop_front(2), c.x.drop_front(2),
                 [&](ArrayRef<int64_t> at, ArrayRef<int64_t> tap) {
                   visit(offsetOf(join(out[0], firstChannel + i, at), c.x),
                         offsetOf(join(out[1], i, tap), c.w), y);
                 });
    ++y;
  });
}

template <typename Op>
static Convolution convolutionOf(Op op, Value x, Value w, Value y) {
  auto shape = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  return {shape(x), shape(w), shape(y), windowOf(op, shape(w).drop_front(2))};
}

Results ConvolutionOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  forEachProduct(convolutionOf(*this, getInput(), getWeight(), getResult()),
                 [&](int64_t x, int64_t w, int64_t y) {
                   result.floats[y] +=
                       operands[0].floats[x] * operands[1].floats[w];
                 });
  return single(std::move(result));
}

Results ConvolutionBackwardDataOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  forEachProduct(convolutionOf(*this, getResult(), getWeight(), getGradient()),
                 [&](int64_t x, int64_t w, int64_t y) {
                   result.floats[x] +=
                       operands[0].floats[y] * operands[1].floats[w];
                 });
  return single(std::move(result));
}

Results ConvolutionBackwardWeightsOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  forEachProduct(convolutionOf(*this, getInput(), getResult(), getGradient()),
                 [&](int64_t x, int64_t w, int64_t y) {
                   result.floats[w] +=
                       operands[0].floats[x] * operands[1].floats[y];
                 });
  return single(std::move(result));
}

//===-- pooling -----------------------------------------------------------===//

/// Calls `visit(input, output, tap)` for each element under each window, with
/// `tap` the row-major offset in the window.
template <typename Visit>
static void forEachPooled(const Window &window, RankedTensorType input,
                          RankedTensorType output, Visit visit) {
  int64_t to = 0;
  forEachIndex(output.getShape(), [&](ArrayRef<int64_t> out) {
    forEachTap(window, out.drop_front(2), input.getShape().drop_front(2),
               [&](ArrayRef<int64_t> at, ArrayRef<int64_t> tap) {
                 visit(offsetOf(join(out[0], out[1], at), input.getShape()), to,
                       offsetOf(tap, window.size));
               });
    ++to;
  });
}

/// The first of equal maxima wins, and NaN wins over all.
Results MaxPoolOp::evaluate(ArrayRef<HostTensor> operands) {
  RankedTensorType type = cast<RankedTensorType>(getResult().getType());
  HostTensor result = zeros(type), indices = zeros(type.getShape(), false);
  llvm::fill(result.floats, -std::numeric_limits<double>::infinity());
  llvm::fill(indices.integers, -1);
  forEachPooled(windowOf(*this), cast<RankedTensorType>(getInput().getType()),
                type, [&](int64_t from, int64_t to, int64_t tap) {
                  double value = operands[0].floats[from];
                  bool isFirst = indices.integers[to] < 0;
                  if (!isFirst && !(value > result.floats[to]) &&
                      !std::isnan(value))
                    return;
                  result.floats[to] = value;
                  indices.integers[to] = tap;
                });
  return SmallVector<HostTensor>{std::move(result), std::move(indices)};
}

Results MaxPoolBackwardOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  forEachPooled(windowOf(*this), getType(),
                cast<RankedTensorType>(getGradient().getType()),
                [&](int64_t from, int64_t to, int64_t tap) {
                  if (operands[1].integers[to] == tap)
                    result.floats[from] += operands[0].floats[to];
                });
  return single(std::move(result));
}

/// The numbers by which the sums of the windows are divided.
template <typename Op>
static std::vector<double> divisors(Op op, RankedTensorType input,
                                    RankedTensorType output) {
  if (op.getCountIncludePad())
    return std::vector<double>(output.getNumElements(),
                               llvm::product_of(op.getWindow()));
  std::vector<double> counts(output.getNumElements());
  forEachPooled(windowOf(op), input, output,
                [&](int64_t, int64_t to, int64_t) { ++counts[to]; });
  return counts;
}

Results AveragePoolOp::evaluate(ArrayRef<HostTensor> operands) {
  auto input = cast<RankedTensorType>(getInput().getType());
  std::vector<double> count = divisors(*this, input, getType());
  HostTensor result = zeros(getType());
  forEachPooled(windowOf(*this), input, getType(),
                [&](int64_t from, int64_t to, int64_t) {
                  result.floats[to] += operands[0].floats[from] / count[to];
                });
  return single(std::move(result));
}

Results AveragePoolBackwardOp::evaluate(ArrayRef<HostTensor> operands) {
  auto output = cast<RankedTensorType>(getGradient().getType());
  std::vector<double> count = divisors(*this, getType(), output);
  HostTensor result = zeros(getType());
  forEachPooled(windowOf(*this), getType(), output,
                [&](int64_t from, int64_t to, int64_t) {
                  result.floats[from] += operands[0].floats[to] / count[to];
                });
  return single(std::move(result));
}

//===-- classification ----------------------------------------------------===//

namespace {
/// Logits and labels of a classification, sample by sample.
struct Classification {
  const HostTensor &logits, &labels;
  int64_t classes, inner; // Logits are [outer, classes, inner].
  int64_t ignoreIndex;

  template <typename Op>
  Classification(Op op, const HostTensor &logits, const HostTensor &labels)
      : logits(logits), labels(labels),
        classes(logits.shape[op.getClassAxis()]), inner(1),
        ignoreIndex(op.getIgnoreIndex()) {
    for (int64_t size :
         ArrayRef(logits.shape).drop_front(op.getClassAxis() + 1))
      inner *= size;
  }

  int64_t samples() const { return labels.size(); }
  int64_t label(int64_t sample) const { return labels.integers[sample]; }
  bool isCounted(int64_t sample) const { return label(sample) != ignoreIndex; }
  int64_t countedSamples() const {
    return llvm::count_if(labels.integers,
                          [&](int64_t label) { return label != ignoreIndex; });
  }

  /// The offset of the logit of a class.
  int64_t position(int64_t sample, int64_t c) const {
    return (sample / inner * classes + c) * inner + sample % inner;
  }
  double logit(int64_t sample, int64_t c) const {
    return logits.floats[position(sample, c)];
  }

  int64_t firstLargest(int64_t sample) const {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (logit(sample, c) > logit(sample, best))
        best = c;
    return best;
  }

  double logTotal(int64_t sample) const {
    double largest = logit(sample, firstLargest(sample)), total = 0;
    for (int64_t c = 0; c < classes; ++c)
      total += std::exp(logit(sample, c) - largest);
    return largest + std::log(total);
  }

  /// The target probability `(1 - e) one_hot(label) + e / C`.
  double target(int64_t sample, int64_t c, double smoothing) const {
    return (c == label(sample) ? 1 - smoothing : 0) + smoothing / classes;
  }

  LogicalResult verifyLabels(Operation *op) const {
    for (int64_t label : labels.integers)
      if (label != ignoreIndex && (label < 0 || label >= classes))
        return op->emitOpError("has label ")
               << label << ", expected 0 to " << classes - 1
               << " or ignore_index " << ignoreIndex;
    return success();
  }
};
} // namespace

Results SoftmaxCrossEntropyOp::evaluate(ArrayRef<HostTensor> operands) {
  Classification c(*this, operands[0], operands[1]);
  if (failed(c.verifyLabels(*this)))
    return failure();
  double smoothing = getLabelSmoothing().convertToDouble();
  HostTensor loss = zeros(getType());
  for (int64_t sample = 0; sample < c.samples(); ++sample)
    for (int64_t k = 0; c.isCounted(sample) && k < c.classes; ++k)
      loss.floats[0] += c.target(sample, k, smoothing) *
                        (c.logTotal(sample) - c.logit(sample, k));
  loss.floats[0] /= c.countedSamples();
  return single(std::move(loss));
}

Results SoftmaxCrossEntropyBackwardOp::evaluate(ArrayRef<HostTensor> operands) {
  Classification c(*this, operands[1], operands[2]);
  if (failed(c.verifyLabels(*this)))
    return failure();
  double smoothing = getLabelSmoothing().convertToDouble();
  double share = operands[0].floats[0] / c.countedSamples();
  HostTensor result = zeros(getType());
  for (int64_t sample = 0; sample < c.samples(); ++sample)
    for (int64_t k = 0; c.isCounted(sample) && k < c.classes; ++k) {
      double softmax = std::exp(c.logit(sample, k) - c.logTotal(sample));
      result.floats[c.position(sample, k)] =
          share * (softmax - c.target(sample, k, smoothing));
    }
  return single(std::move(result));
}

Results AccuracyOp::evaluate(ArrayRef<HostTensor> operands) {
  Classification c(*this, operands[0], operands[1]);
  if (failed(c.verifyLabels(*this)))
    return failure();
  HostTensor result = zeros(getType());
  for (int64_t sample = 0; sample < c.samples(); ++sample)
    if (c.isCounted(sample) && c.firstLargest(sample) == c.label(sample))
      ++result.floats[0];
  result.floats[0] /= c.countedSamples();
  return single(std::move(result));
}

//===-- regression --------------------------------------------------------===//

Results MeanSquaredErrorOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor loss = zeros(getType());
  for (auto [prediction, target] :
       llvm::zip(operands[0].floats, operands[1].floats))
    loss.floats[0] += (prediction - target) * (prediction - target);
  loss.floats[0] /= operands[0].size();
  return single(std::move(loss));
}

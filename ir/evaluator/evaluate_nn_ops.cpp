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

namespace {
/// An element under a window: its offset in a channel of the input, and in the
/// window.
struct Tap {
  int64_t inInput, inWindow;
};

/// The elements under the window at each position of the output, without those
/// in the padding, in row-major order.
class Taps {
public:
  Taps(const Window &window, ArrayRef<int64_t> outputSizes,
       ArrayRef<int64_t> inputSizes);

  int64_t positions() const { return ends_.size(); }
  ArrayRef<Tap> at(int64_t position) const {
    return ArrayRef(taps_)
        .slice(0, ends_[position])
        .drop_front(position ? ends_[position - 1] : 0);
  }

private:
  std::vector<Tap> taps_;
  std::vector<size_t> ends_; // behind the last of each position
};
} // namespace

Taps::Taps(const Window &window, ArrayRef<int64_t> outputSizes,
           ArrayRef<int64_t> inputSizes) {
  SmallVector<int64_t> at(window.rank());
  forEachIndex(outputSizes, [&](ArrayRef<int64_t> output) {
    int64_t inWindow = 0;
    forEachIndex(window.size, [&](ArrayRef<int64_t> tap) {
      bool isInside = true;
      for (int64_t d = 0; d < window.rank(); ++d) {
        at[d] = window.inputIndex(d, output[d], tap[d]);
        isInside &= at[d] >= 0 && at[d] < inputSizes[d];
      }
      if (isInside)
        taps_.push_back({offsetOf(at, inputSizes), inWindow});
      ++inWindow;
    });
    ends_.push_back(taps_.size());
  });
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
  ArrayRef<int64_t> inputSizes = c.x.drop_front(2);
  Taps taps(c.window, c.y.drop_front(2), inputSizes);
  int64_t inputSize = llvm::product_of(inputSizes),
          windowSize = llvm::product_of(c.window.size);
  int64_t filtersPerGroup = c.w[0] / (c.x[1] / c.w[1]);
  int64_t y = 0;
  for (int64_t plane = 0; plane < c.y[0] * c.y[1]; ++plane) {
    int64_t sample = plane / c.y[1], filter = plane % c.y[1];
    int64_t channel = sample * c.x[1] + filter / filtersPerGroup * c.w[1];
    for (int64_t position = 0; position < taps.positions(); ++position, ++y)
      for (int64_t i = 0; i < c.w[1]; ++i)
        for (Tap tap : taps.at(position))
          visit((channel + i) * inputSize + tap.inInput,
                (filter * c.w[1] + i) * windowSize + tap.inWindow, y);
  }
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
  ArrayRef<int64_t> sizes = input.getShape().drop_front(2);
  Taps taps(window, output.getShape().drop_front(2), sizes);
  int64_t inputSize = llvm::product_of(sizes);
  int64_t planes = output.getDimSize(0) * output.getDimSize(1), to = 0;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t position = 0; position < taps.positions(); ++position, ++to)
      for (Tap tap : taps.at(position))
        visit(plane * inputSize + tap.inInput, to, tap.inWindow);
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

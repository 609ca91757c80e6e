// The reference evaluation of convolutions, pools, losses and metrics.

#include "ir/evaluator/evaluator.h"
#include "ir/evaluator/row_major.h"
#include "ir/window.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

static Results single(HostTensor tensor) {
  return SmallVector<HostTensor>{std::move(tensor)};
}

//===-- windows -----------------------------------------------------------===//

namespace {
/// The elements under a window along one dimension that lie inside the input:
/// the offsets of the first in a channel of the input and in the window, and
/// the distances from each to the next.
struct Span {
  int64_t inInput = 0, inWindow = 0, count = 1, inputStep = 0, windowStep = 0;
};

/// The elements under a window at one position of the output, without those in
/// the padding. A window of one dimension has rows of which there is one.
struct Place {
  SmallVector<Span> outer; // dimensions before the last two
  Span rows, columns;

  /// Calls `visit(offset in a channel of the input, offset in the window)` for
  /// each element, in row-major order.
  template <typename Visit> void forEachTap(Visit visit) const {
    if (outer.empty())
      return forEachInPlane(0, 0, visit);
    forEachPlane(outer, 0, 0, [&](int64_t inInput, int64_t inWindow) {
      forEachInPlane(inInput, inWindow, visit);
    });
  }

private:
  template <typename Visit>
  static void forEachPlane(ArrayRef<Span> spans, int64_t inInput,
                           int64_t inWindow, const Visit &visit) {
    if (spans.empty())
      return visit(inInput, inWindow);
    const Span &span = spans.front();
    for (int64_t i = 0; i < span.count; ++i)
      forEachPlane(spans.drop_front(),
                   inInput + span.inInput + i * span.inputStep,
                   inWindow + span.inWindow + i * span.windowStep, visit);
  }

  template <typename Visit>
  void forEachInPlane(int64_t inInput, int64_t inWindow, Visit visit) const {
    inInput += rows.inInput + columns.inInput;
    inWindow += rows.inWindow + columns.inWindow;
    for (int64_t i = 0; i < rows.count; ++i)
      for (int64_t j = 0; j < columns.count; ++j)
        visit(inInput + i * rows.inputStep + j * columns.inputStep,
              inWindow + i * rows.windowStep + j * columns.windowStep);
  }
};

/// The windows at all positions of the output. The elements under a window are
/// the product of its spans, so only the spans of each dimension are kept.
class Places {
public:
  Places(const Window &window, ArrayRef<int64_t> outputSizes,
         ArrayRef<int64_t> inputSizes);

  /// Calls `visit(place)` for each position of the output, in row-major order.
  template <typename Visit> void forEach(Visit visit) const {
    Place place;
    place.outer.resize(outerSizes_.size());
    forEachIndex(outerSizes_, [&](ArrayRef<int64_t> index) {
      for (size_t d = 0; d < index.size(); ++d)
        place.outer[d] = spans_[d][index[d]];
      for (const Span &rows : spans_[spans_.size() - 2])
        for (const Span &columns : spans_.back()) {
          place.rows = rows;
          place.columns = columns;
          visit(std::as_const(place));
        }
    });
  }

private:
  std::vector<std::vector<Span>> spans_; // [dimension][position], at least two
  SmallVector<int64_t> outerSizes_;      // of the output, without the last two
};
} // namespace

/// The span at position `output` along dimension `d`.
static Span spanOf(const Window &window, int64_t d, int64_t output,
                   int64_t inputSize) {
  int64_t first = 0, end = window.size[d];
  while (first < end && window.inputIndex(d, output, first) < 0)
    ++first;
  while (first < end && window.inputIndex(d, output, end - 1) >= inputSize)
    --end;
  Span span;
  span.inInput = window.inputIndex(d, output, first);
  span.inWindow = first;
  span.count = end - first;
  span.inputStep = window.dilations[d];
  span.windowStep = 1;
  return span;
}

Places::Places(const Window &window, ArrayRef<int64_t> outputSizes,
               ArrayRef<int64_t> inputSizes) {
  if (window.rank() < 2)
    spans_.push_back({Span()});
  else
    outerSizes_.append(outputSizes.begin(), outputSizes.end() - 2);
  SmallVector<int64_t> inputSteps = stepsOf(inputSizes),
                       windowSteps = stepsOf(window.size);
  for (int64_t d = 0; d < window.rank(); ++d) {
    std::vector<Span> &spans = spans_.emplace_back();
    for (int64_t output = 0; output < outputSizes[d]; ++output) {
      Span span = spanOf(window, d, output, inputSizes[d]);
      span.inInput *= inputSteps[d];
      span.inputStep *= inputSteps[d];
      span.inWindow *= windowSteps[d];
      span.windowStep *= windowSteps[d];
      spans.push_back(span);
    }
  }
}

namespace {
/// An element under a window: its offset in a channel of the input, and in the
/// window.
struct Tap {
  int64_t inInput, inWindow;
};

/// The elements under the window at each position of the output, in row-major
/// order. All channels of all samples share them, so a few MB of them are kept.
class Taps {
public:
  Taps(const Window &window, ArrayRef<int64_t> outputSizes,
       ArrayRef<int64_t> inputSizes)
      : places_(window, outputSizes, inputSizes) {
    constexpr int64_t most = 4'000'000 / sizeof(Tap);
    int64_t inWindow = llvm::product_of(window.size);
    taps_.reserve(inWindow);
    if (llvm::product_of(outputSizes) > most / inWindow)
      return;
    places_.forEach([&](const Place &place) {
      list(place);
      ends_.push_back(taps_.size());
    });
  }

  /// Calls `visit(taps)` for each position.
  template <typename Visit> void forEachPosition(Visit visit) {
    if (ends_.empty())
      return places_.forEach([&](const Place &place) {
        taps_.clear();
        list(place);
        visit(ArrayRef(taps_));
      });
    size_t first = 0;
    for (size_t end : ends_) {
      visit(ArrayRef(taps_).slice(first, end - first));
      first = end;
    }
  }

private:
  void list(const Place &place) {
    place.forEachTap([&](int64_t inInput, int64_t inWindow) {
      taps_.push_back({inInput, inWindow});
    });
  }

  Places places_;
  std::vector<Tap> taps_;
  /// `ends_` is behind the last of each position; it is empty where there are
  /// too many, and `taps_` has those of one.
  std::vector<size_t> ends_;
};
} // namespace

//===-- convolution -------------------------------------------------------===//

namespace {
/// The shapes of input, weight and output, which all three ops have.
struct Convolution {
  ArrayRef<int64_t> x, w, y;
  Window window;
  int64_t groups;
};
} // namespace

/// Calls `visit(y, products)` for each element of the output, with its offset;
/// `products(term)` calls `term(x, w)` with the offsets in input and weight of
/// each multiplication of the element.
template <typename Visit>
static void forEachSum(const Convolution &c, Visit visit) {
  ArrayRef<int64_t> inputSizes = c.x.drop_front(2);
  Taps all(c.window, c.y.drop_front(2), inputSizes);
  int64_t inputSize = llvm::product_of(inputSizes),
          windowSize = llvm::product_of(c.window.size);
  int64_t filtersPerGroup = c.w[0] / c.groups;
  int64_t y = 0;
  for (int64_t plane = 0; plane < c.y[0] * c.y[1]; ++plane) {
    int64_t sample = plane / c.y[1], filter = plane % c.y[1];
    int64_t channel = sample * c.x[1] + filter / filtersPerGroup * c.w[1];
    all.forEachPosition([&](ArrayRef<Tap> taps) {
      visit(y++, [&](auto term) {
        for (int64_t i = 0; i < c.w[1]; ++i) {
          int64_t x = (channel + i) * inputSize,
                  w = (filter * c.w[1] + i) * windowSize;
          for (Tap tap : taps)
            term(x + tap.inInput, w + tap.inWindow);
        }
      });
    });
  }
}

template <typename Op>
static Convolution convolutionOf(Op op, Value x, Value w, Value y) {
  auto shape = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  return {shape(x), shape(w), shape(y), windowOf(op, shape(w).drop_front(2)),
          int64_t(op.getGroups())};
}

Results ConvolutionOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  const double *input = operands[0].floats.data(),
               *weight = operands[1].floats.data();
  forEachSum(convolutionOf(*this, getInput(), getWeight(), getResult()),
             [&](int64_t y, auto products) {
               double sum = 0;
               products(
                   [&](int64_t x, int64_t w) { sum += input[x] * weight[w]; });
               result.floats[y] = sum;
             });
  return single(std::move(result));
}

Results ConvolutionBackwardDataOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  const double *weight = operands[1].floats.data();
  double *sums = result.floats.data();
  forEachSum(convolutionOf(*this, getResult(), getWeight(), getGradient()),
             [&](int64_t y, auto products) {
               double gradient = operands[0].floats[y];
               products([&](int64_t x, int64_t w) {
                 sums[x] += gradient * weight[w];
               });
             });
  return single(std::move(result));
}

Results ConvolutionBackwardWeightsOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  const double *input = operands[0].floats.data();
  double *sums = result.floats.data();
  forEachSum(
      convolutionOf(*this, getInput(), getResult(), getGradient()),
      [&](int64_t y, auto products) {
        double gradient = operands[1].floats[y];
        products([&](int64_t x, int64_t w) { sums[w] += input[x] * gradient; });
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
  Taps all(window, output.getShape().drop_front(2), sizes);
  int64_t inputSize = llvm::product_of(sizes);
  int64_t planes = output.getDimSize(0) * output.getDimSize(1), to = 0;
  for (int64_t plane = 0; plane < planes; ++plane)
    all.forEachPosition([&](ArrayRef<Tap> taps) {
      for (Tap tap : taps)
        visit(plane * inputSize + tap.inInput, to, tap.inWindow);
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

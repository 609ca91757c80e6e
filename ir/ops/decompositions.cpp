// Losses and metrics as small ops, which then fuse with their neighbours.
//
// Forward and backward of a loss build the same intermediate values in the same
// way, so that common subexpression elimination leaves one of each. Types
// narrower than f32 are computed in f32.

#include "ir/build.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

namespace {
/// The values of a classification: logits [.., C, ..] with C at `axis`, labels
/// [..].
struct Classes {
  Classes(OpBuilder &builder, Location loc, Value logits, Value labels,
          int64_t axis, int64_t ignoreIndex)
      : builder(builder), loc(loc), labels(labels), axis(axis) {
    this->logits = convert(builder, loc, logits,
                           computeType(tensorType(logits).getElementType()));
    shape = tensorType(logits).getShape();
    Value ignored = splat(builder, loc, labels.getType(), ignoreIndex);
    counted = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                    labels, ignored);
  }

  Type element() { return tensorType(logits).getElementType(); }
  int64_t count() { return shape[axis]; }
  Value zeroOf(Value like) { return splat(builder, loc, like.getType(), 0); }

  /// Broadcasts a value without class axis along that axis.
  Value overClasses(Value value) {
    return broadcastAlong(builder, loc, value, shape, axis);
  }
  Value overAllSum(Value value) {
    return sum(builder, loc, value, allAxes(tensorType(value).getRank()));
  }

  /// The class of each logit, in the type of the labels.
  Value classNumbers() {
    return iota(
        builder, loc,
        RankedTensorType::get(shape, tensorType(labels).getElementType()),
        axis);
  }
  /// Whether a logit belongs to its label's class.
  Value isLabel() {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                 classNumbers(), overClasses(labels));
  }
  /// `value` [..], with NaN where a label is not one of the classes.
  Value nanOutside(Value value) {
    Value classes = splat(builder, loc, labels.getType(), count());
    // As an unsigned number, a negative label is large.
    Value isClass = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, labels, classes);
    Value nan = splat(builder, loc, value.getType(), std::nan(""));
    return arith::SelectOp::create(builder, loc, isClass, value, nan);
  }
  /// The number of labels that are not ignored, as a rank-0 tensor.
  Value labelCount() {
    return overAllSum(convert(builder, loc, counted, element()));
  }
  Value largest() {
    return overClasses(reduce(builder, loc, Reduction::max, logits, axis));
  }

  OpBuilder &builder;
  Location loc;
  Value logits, labels;
  Value counted; // Whether a label is not ignored.
  ArrayRef<int64_t> shape;
  int64_t axis;
};

/// The parts of a softmax that forward and backward share.
struct Softmax {
  explicit Softmax(Classes &c) {
    shifted = arith::SubFOp::create(c.builder, c.loc, c.logits, c.largest());
    exponentials = math::ExpOp::create(c.builder, c.loc, shifted);
    total = sum(c.builder, c.loc, exponentials, c.axis);
  }
  Value shifted;      // logits - max
  Value exponentials; // exp(shifted)
  Value total;        // their sum over the classes
};
} // namespace

//===-- softmax cross entropy ---------------------------------------------===//

/// `(1 - e) * (shifted at the label) + e / C * sum of shifted`: the shifted
/// logits weighted with the target distribution.
static Value targetTerm(Classes &c, Value shifted, double smoothing) {
  OpBuilder &builder = c.builder;
  Location loc = c.loc;
  Value kept = arith::SelectOp::create(builder, loc, c.isLabel(), shifted,
                                       c.zeroOf(shifted));
  Value atLabel = sum(builder, loc, kept, c.axis);
  if (smoothing == 0)
    return atLabel;
  Value all = sum(builder, loc, shifted, c.axis);
  Value share = splat(builder, loc, all.getType(), smoothing / c.count());
  Value rest = splat(builder, loc, all.getType(), 1 - smoothing);
  return arith::AddFOp::create(
      builder, loc, arith::MulFOp::create(builder, loc, atLabel, rest),
      arith::MulFOp::create(builder, loc, all, share));
}

SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder &builder) {
  Classes c(builder, getLoc(), getLogits(), getLabels(), getClassAxis(),
            getIgnoreIndex());
  Softmax softmax(c);
  Value log = math::LogOp::create(builder, getLoc(), softmax.total);
  Value target =
      targetTerm(c, softmax.shifted, getLabelSmoothing().convertToDouble());
  Value each = arith::SubFOp::create(builder, getLoc(), log, target);
  Value kept = arith::SelectOp::create(builder, getLoc(), c.counted,
                                       c.nanOutside(each), c.zeroOf(each));
  Value loss = arith::DivFOp::create(builder, getLoc(), c.overAllSum(kept),
                                     c.labelCount());
  return {convert(builder, getLoc(), loss, getType().getElementType())};
}

/// The target distribution `(1 - e) * one_hot(label) + e / C`.
static Value targets(Classes &c, double smoothing) {
  double share = smoothing / c.count();
  Value on = splat(c.builder, c.loc, c.logits.getType(), 1 - smoothing + share);
  Value off = splat(c.builder, c.loc, c.logits.getType(), share);
  return arith::SelectOp::create(c.builder, c.loc, c.isLabel(), on, off);
}

SmallVector<Value>
SoftmaxCrossEntropyBackwardOp::decompose(OpBuilder &builder) {
  Location loc = getLoc();
  Classes c(builder, loc, getLogits(), getLabels(), getClassAxis(),
            getIgnoreIndex());
  Softmax softmax(c);
  Value probability = arith::DivFOp::create(builder, loc, softmax.exponentials,
                                            c.overClasses(softmax.total));
  Value difference =
      arith::SubFOp::create(builder, loc, probability,
                            targets(c, getLabelSmoothing().convertToDouble()));

  Value gradient = convert(builder, loc, getGradient(), c.element());
  Value share = arith::DivFOp::create(builder, loc, gradient, c.labelCount());
  Value shares =
      broadcastScalar(builder, loc, share, tensorType(getLabels()).getShape());
  Value weight = arith::SelectOp::create(
      builder, loc, c.counted, c.nanOutside(shares), c.zeroOf(shares));
  Value result =
      arith::MulFOp::create(builder, loc, difference, c.overClasses(weight));
  return {convert(builder, loc, result, getType().getElementType())};
}

//===-- mean squared error ------------------------------------------------===//

SmallVector<Value> MeanSquaredErrorOp::decompose(OpBuilder &builder) {
  Location loc = getLoc();
  Type element = computeType(tensorType(getPrediction()).getElementType());
  Value difference = arith::SubFOp::create(
      builder, loc, convert(builder, loc, getPrediction(), element),
      convert(builder, loc, getTarget(), element));
  Value square = arith::MulFOp::create(builder, loc, difference, difference);
  Value loss =
      mean(builder, loc, square, allAxes(tensorType(square).getRank()));
  return {convert(builder, loc, loss, getType().getElementType())};
}

//===-- accuracy ----------------------------------------------------------===//

/// The class of the first largest logit; C if all are NaN.
static Value firstLargest(Classes &c) {
  Value isLargest = arith::CmpFOp::create(
      c.builder, c.loc, arith::CmpFPredicate::OEQ, c.logits, c.largest());
  Value numbers = c.classNumbers();
  Value past = splat(c.builder, c.loc, numbers.getType(), c.count());
  Value candidates =
      arith::SelectOp::create(c.builder, c.loc, isLargest, numbers, past);
  return reduce(c.builder, c.loc, Reduction::min, candidates, c.axis);
}

SmallVector<Value> AccuracyOp::decompose(OpBuilder &builder) {
  Location loc = getLoc();
  Classes c(builder, loc, getLogits(), getLabels(), getClassAxis(),
            getIgnoreIndex());
  Value hit = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                    firstLargest(c), getLabels());
  Value countedHit = arith::AndIOp::create(builder, loc, hit, c.counted);
  Value hits = c.overAllSum(convert(builder, loc, countedHit, c.element()));
  Value result = arith::DivFOp::create(builder, loc, hits, c.labelCount());
  return {convert(builder, loc, result, getType().getElementType())};
}

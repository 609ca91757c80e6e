// Verifiers of convolutions, pools, losses and metrics: every result shape is
// computed from the operands and compared with the stated one.

#include "ir/build.h"
#include "ir/ops/verify_type.h"
#include "ir/ops/verify_window.h"

using namespace mlir;
using namespace gradus;

//===-- windows -----------------------------------------------------------===//

/// The shape of a result: batch, channels, then the number of windows in each
/// dimension.
static SmallVector<int64_t> windowedShape(const Window &window, int64_t batch,
                                          int64_t channels,
                                          ArrayRef<int64_t> spatialSizes) {
  SmallVector<int64_t> shape = {batch, channels};
  for (auto [d, size] : llvm::enumerate(spatialSizes))
    shape.push_back(window.outputSize(d, size));
  return shape;
}

//===-- convolution -------------------------------------------------------===//

/// Verifies that both operands have one element type, and the result the same,
/// or f32 if they are narrower.
static LogicalResult verifyElements(Operation *op) {
  RankedTensorType first = tensorType(op->getOperand(0)),
                   second = tensorType(op->getOperand(1)),
                   result = tensorType(op->getResult(0));
  if (first.getElementType() != second.getElementType())
    return op->emitOpError("expected equal element types, found ")
           << first << " and " << second;
  if (result.getElementType() == first.getElementType() ||
      result.getElementType() == computeType(first.getElementType()))
    return success();
  return op->emitOpError("expected a result of the operands' element type, "
                         "found ")
         << result << " of " << first;
}

/// Verifies input, weight and output of all three convolution ops.
template <typename Op>
static LogicalResult verifyConvolution(Op op, RankedTensorType input,
                                       RankedTensorType weight,
                                       RankedTensorType output) {
  if (input.getRank() < 3 || weight.getRank() != input.getRank())
    return op.emitOpError("expected an input [N, C, spatial...] and a weight "
                          "of the same rank, found ")
           << input << " and " << weight;
  int64_t groups = op.getGroups();
  int64_t channels = input.getDimSize(1), filters = weight.getDimSize(0);
  if (groups < 1 || channels % groups || filters % groups)
    return op.emitOpError("has ")
           << groups << " groups, which do not divide " << channels
           << " input and " << filters << " output channels";
  if (weight.getDimSize(1) != channels / groups)
    return op.emitOpError("has a weight for ")
           << weight.getDimSize(1)
           << " input channels a group, but the input has " << channels
           << " channels in " << groups << " groups";
  auto sizes = input.getShape().drop_front(2);
  Window window = windowOf(op, weight.getShape().drop_front(2));
  if (failed(verifyWindow(op, window, sizes)))
    return failure();
  if (failed(verifyElements(op)))
    return failure();
  return verifyType(op, "an output", output,
                    windowedShape(window, input.getDimSize(0), filters, sizes),
                    output.getElementType());
}

LogicalResult ConvolutionOp::verify() {
  return verifyConvolution(*this, tensorType(getInput()),
                           tensorType(getWeight()), getType());
}

LogicalResult ConvolutionBackwardDataOp::verify() {
  return verifyConvolution(*this, getType(), tensorType(getWeight()),
                           tensorType(getGradient()));
}

LogicalResult ConvolutionBackwardWeightsOp::verify() {
  return verifyConvolution(*this, tensorType(getInput()), getType(),
                           tensorType(getGradient()));
}

//===-- pooling -----------------------------------------------------------===//

/// Whether the window at `output` touches the input at all.
static bool touchesInput(const Window &window, int64_t d, int64_t output,
                         int64_t inputSize) {
  for (int64_t tap = 0; tap < window.size[d]; ++tap)
    if (int64_t at = window.inputIndex(d, output, tap);
        at >= 0 && at < inputSize)
      return true;
  return false;
}

/// Refuses windows of padding alone, which have no maximum and no mean.
static LogicalResult verifyNoEmptyWindow(Operation *op, const Window &window,
                                         ArrayRef<int64_t> sizes) {
  for (int64_t d = 0; d < window.rank(); ++d)
    for (int64_t o = 0, end = window.outputSize(d, sizes[d]); o < end; ++o)
      if (!touchesInput(window, d, o, sizes[d]))
        return op->emitOpError("has a window of padding alone: number ")
               << o << " along spatial dimension " << d;
  return success();
}

/// Verifies, for all pooling ops, that `output` has the shape that windows over
/// `input` give.
template <typename Op>
static LogicalResult verifyPool(Op op, RankedTensorType input,
                                RankedTensorType output) {
  if (input.getRank() < 3)
    return op.emitOpError("expected an image [N, C, spatial...], found ")
           << input;
  auto sizes = input.getShape().drop_front(2);
  Window window = windowOf(op);
  if (failed(verifyWindow(op, window, sizes)) ||
      failed(verifyNoEmptyWindow(op, window, sizes)))
    return failure();
  return verifyType(
      op, "an output", output,
      windowedShape(window, input.getDimSize(0), input.getDimSize(1), sizes),
      input.getElementType());
}

static LogicalResult verifyIndices(Operation *op, RankedTensorType indices,
                                   RankedTensorType output) {
  return verifyType(op, "indices", indices, output.getShape(),
                    IntegerType::get(op->getContext(), 32));
}

LogicalResult MaxPoolOp::verify() {
  RankedTensorType output = tensorType(getResult());
  if (failed(verifyPool(*this, tensorType(getInput()), output)))
    return failure();
  return verifyIndices(*this, tensorType(getIndices()), output);
}

LogicalResult MaxPoolBackwardOp::verify() {
  RankedTensorType output = tensorType(getGradient());
  if (failed(verifyPool(*this, getType(), output)))
    return failure();
  return verifyIndices(*this, tensorType(getIndices()), output);
}

LogicalResult AveragePoolOp::verify() {
  return verifyPool(*this, tensorType(getInput()), getType());
}

LogicalResult AveragePoolBackwardOp::verify() {
  return verifyPool(*this, getType(), tensorType(getGradient()));
}

//===-- losses and metrics ------------------------------------------------===//

static LogicalResult verifyScalar(Operation *op, StringRef what, Value value) {
  if (tensorType(value).getRank() == 0)
    return success();
  return op->emitOpError("expected ")
         << what << " of rank 0, found " << value.getType();
}

/// Verifies that labels have the shape of the logits without the class axis.
static LogicalResult verifyLabels(Operation *op, RankedTensorType logits,
                                  RankedTensorType labels, int64_t classAxis) {
  if (classAxis < 0 || classAxis >= logits.getRank())
    return op->emitOpError("has class axis ")
           << classAxis << ", but the logits have rank " << logits.getRank();
  SmallVector<int64_t> shape(logits.getShape());
  shape.erase(shape.begin() + classAxis);
  return verifyType(op, "labels", labels, shape, labels.getElementType());
}

static LogicalResult verifySmoothing(Operation *op, double smoothing) {
  if (smoothing >= 0 && smoothing <= 1)
    return success();
  return op->emitOpError("has label smoothing ")
         << smoothing << ", expected 0 to 1";
}

LogicalResult SoftmaxCrossEntropyOp::verify() {
  if (failed(verifyScalar(*this, "a loss", getLoss())) ||
      failed(verifySmoothing(*this, getLabelSmoothing().convertToDouble())))
    return failure();
  return verifyLabels(*this, tensorType(getLogits()), tensorType(getLabels()),
                      getClassAxis());
}

LogicalResult SoftmaxCrossEntropyBackwardOp::verify() {
  RankedTensorType logits = tensorType(getLogits());
  if (failed(verifyScalar(*this, "a gradient of the loss", getGradient())) ||
      failed(verifySmoothing(*this, getLabelSmoothing().convertToDouble())) ||
      failed(
          verifyLabels(*this, logits, tensorType(getLabels()), getClassAxis())))
    return failure();
  return verifyType(*this, "a result", getType(), logits.getShape(),
                    logits.getElementType());
}

LogicalResult MeanSquaredErrorOp::verify() {
  if (failed(verifyScalar(*this, "a loss", getLoss())))
    return failure();
  RankedTensorType prediction = tensorType(getPrediction());
  return verifyType(*this, "a target", getTarget().getType(),
                    prediction.getShape(), prediction.getElementType());
}

LogicalResult AccuracyOp::verify() {
  if (failed(verifyScalar(*this, "a result", getResult())))
    return failure();
  return verifyLabels(*this, tensorType(getLogits()), tensorType(getLabels()),
                      getClassAxis());
}

// Makes batch normalizations of @train use the statistics of the batch, and
// updates their running statistics.
//
// Runs between training_step, which derives @train from the model, and
// autodiff, which differentiates through the statistics. @evaluate and @predict
// use the running ones.

#include "passes/gradients/train_batch_norm.h"

#include "ir/arithmetic.h"
#include "passes/distribution.h"
#include "passes/passes.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace gradus {
#define GEN_PASS_DEF_TRAINBATCHNORM
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct TrainBatchNormPass : impl::TrainBatchNormBase<TrainBatchNormPass> {
  using Base::Base;

  void runOnOperation() override {
    auto settings = recipe::read(getOperation(), batchNormKeys());
    GraphOp train = getOperation().getGraph(well_known::kTrain);
    if (!train)
      return;
    if (settings.isFrozen) {
      if (train.getOps<BatchNormOp>().empty())
        recipe::keyWarning(getOperation(), "freeze_batch_norm")
            << "changes nothing: the model has no batch normalization";
      return;
    }
    isUnbiased = settings.variance == BatchNormSettings::Variance::pytorch;
    running.clear();
    if (failed(readRanks(train)))
      return signalPassFailure();
    for (auto op : llvm::to_vector(train.getOps<BatchNormOp>()))
      if (op.getMomentum() && failed(switchToBatch(op)))
        return signalPassFailure();
    writeStatistics(train);
  }

  /// Reads the number of ranks where statistics are those of all.
  LogicalResult readRanks(GraphOp train) {
    ranks = {};
    if (!isDataParallel(getOperation()) ||
        distributionOf(getOperation()).batchNorm !=
            BatchNormRanks::synchronized)
      return success();
    bool isDone = !train.getOps<WriteOp>().empty();
    if (train.getOps<BatchNormOp>().empty()) {
      if (!isDone)
        recipe::keyWarning(getOperation(), "distribution.batch_norm")
            << "changes nothing: the model has no batch normalization";
      return success();
    }
    OpBuilder builder = OpBuilder::atBlockBegin(&train.getBody().front());
    ranks = gradus::readRanks(builder, train.getLoc(), getOperation());
    return success(bool(ranks));
  }

  /// Replaces the op by one that uses the batch's statistics.
  LogicalResult switchToBatch(BatchNormOp op) {
    auto mean = op.getMean().getDefiningOp<ReadOp>();
    auto variance = op.getVariance().getDefiningOp<ReadOp>();
    if (!mean || !variance)
      return op.emitError("has a momentum, but its mean and variance are no "
                          "states that could be kept");
    RankedTensorType image = op.getType();
    int64_t count = image.getNumElements() / image.getDimSize(1);
    if (count < 2)
      return op.emitError("normalizes one value a channel, which has no "
                          "variance: train with larger batches, or set the "
                          "recipe's `freeze_batch_norm`");
    OpBuilder builder(op);
    Normalized batch = ranks ? overAllRanks(builder, op, count)
                             : overBatch(builder, op, count);
    double momentum = op.getMomentum()->convertToDouble();
    keep(builder, mean, batch.mean, momentum, 1 - momentum);
    keep(builder, variance, batch.variance, momentum,
         (1 - momentum) * batch.correction);
    report(op);
    op.getResult().replaceAllUsesWith(batch.result);
    op.erase();
    return success();
  }

  /// The result of a normalization, and the statistics that are kept of it.
  struct Normalized {
    Value result, mean, variance;
    double correction = 1; // of the variance
  };

  Normalized overBatch(OpBuilder &builder, BatchNormOp op,
                       int64_t count) const {
    auto training = BatchNormTrainingOp::create(
        builder, op.getLoc(), op.getInput(), op.getScale(), op.getBias(),
        op.getEpsilonAttr());
    return {training.getResult(), training.getMean(), training.getVariance(),
            isUnbiased ? double(count) / (count - 1) : 1};
  }

  /// Normalizes by the samples of all ranks. The mean is shared before the
  /// squares are summed: their difference would lose digits.
  Normalized overAllRanks(OpBuilder &builder, BatchNormOp op,
                          int64_t count) const {
    Location loc = op.getLoc();
    Arithmetic math(builder, loc);
    RankedTensorType type = op.getType();
    SmallVector<int64_t> axes = axesExcept(type.getRank(), {1});
    auto over = [&](Value value) {
      return broadcastAlong(builder, loc, value, type.getShape(), axes);
    };
    auto wide = [&](Value value) {
      return convert(builder, loc, value, computeType(type.getElementType()));
    };
    Value input = wide(op.getInput());
    Value mean =
        meanOverRanks(math, gradus::mean(builder, loc, input, axes), ranks);
    Value centered = math.subtract(input, over(mean));
    Value squares =
        gradus::mean(builder, loc, math.multiply(centered, centered), axes);
    Value variance = meanOverRanks(math, squares, ranks);
    Value deviation = math.squareRoot(math.add(
        variance, math.number(op.getEpsilon().convertToDouble(), variance)));
    Value factor = math.divide(wide(op.getScale()), deviation);
    Value result = math.add(math.multiply(centered, over(factor)),
                            over(wide(op.getBias())));
    return {convert(builder, loc, result, type.getElementType()), mean,
            isUnbiased ? unbiased(math, variance, count) : variance};
  }

  /// Divides by one less than the number of values, of which each rank has
  /// `count` a channel.
  Value unbiased(const Arithmetic &math, Value variance, int64_t count) const {
    Value values = math.scale(count, ranksLike(math, ranks, variance));
    Value less = math.subtract(values, math.number(1, values));
    return math.multiply(variance, math.divide(values, less));
  }

  /// Sets the new value `momentum * old + share * batch`; if several ops update
  /// a state, each continues from the one before.
  void keep(OpBuilder &builder, ReadOp read, Value batch, double momentum,
            double share) {
    Value &value = running[read.getState()];
    if (!value)
      value = read.getResult();
    Location loc = batch.getLoc();
    Arithmetic a(builder, loc);
    value = a.add(a.scale(momentum, value), a.scale(share, batch));
  }

  void writeStatistics(GraphOp train) {
    OpBuilder builder(train.getBody().front().getTerminator());
    for (auto [name, value] : running)
      WriteOp::create(builder, value.getLoc(),
                      FlatSymbolRefAttr::get(&getContext(), name), value);
  }

  void report(BatchNormOp op) {
    remark::passed(
        op.getLoc(),
        remark::RemarkOpts::name("BatchStatistics").category(getArgument()))
        << "normalizes by the batch in @train";
  }

  bool isUnbiased = true;
  Value ranks; // where statistics are of the samples of all; else null
  llvm::MapVector<StringRef, Value> running;
};

} // namespace

const recipe::Keys<BatchNormSettings> &batchNormKeys() {
  using enum recipe::Kind;
  using recipe::Field;
  static const recipe::Keys<BatchNormSettings> keys = {
      Field{"freeze_batch_norm", boolean, "false",
            "use running statistics and leave them alone"}
          .into(&BatchNormSettings::isFrozen),
      Field{"batch_norm_variance", choice, "\"pytorch\"",
            "running variance divided by N-1 (pytorch) or N (onnx)"}
          .among({{"pytorch"}, {"onnx"}})
          .into(&BatchNormSettings::variance)};
  return keys;
}

} // namespace gradus

// Makes batch normalizations of @train use the statistics of the batch, and
// updates their running statistics.
//
// Runs between training_step, which derives @train from the model, and
// autodiff, which differentiates through the statistics. @evaluate and @predict
// use the running ones.

#include "passes/gradients/train_batch_norm.h"

#include "ir/arithmetic.h"
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
    for (auto op : llvm::to_vector(train.getOps<BatchNormOp>()))
      if (op.getMomentum() && failed(switchToBatch(op)))
        return signalPassFailure();
    writeStatistics(train);
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
    auto training = BatchNormTrainingOp::create(
        builder, op.getLoc(), op.getInput(), op.getScale(), op.getBias(),
        op.getEpsilonAttr());
    double momentum = op.getMomentum()->convertToDouble();
    double correction = isUnbiased ? double(count) / (count - 1) : 1;
    keep(builder, mean, training.getMean(), momentum, 1 - momentum);
    keep(builder, variance, training.getVariance(), momentum,
         (1 - momentum) * correction);
    report(op);
    op.getResult().replaceAllUsesWith(training.getResult());
    op.erase();
    return success();
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

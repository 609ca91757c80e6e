// Expands dropouts of @train.
//
// Runs between training_step, which derives @train from the model, and
// autodiff, for which the mask is a constant. @evaluate and @predict keep the
// op, which is the identity there.

#include "passes/gradients/train_dropout.h"

#include "ir/arithmetic.h"
#include "ir/build.h"
#include "ir/dropout.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "recipe/run_settings.h"
#include "runtime/well_known.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_TRAINDROPOUT
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct TrainDropoutPass : impl::TrainDropoutBase<TrainDropoutPass> {
  using Base::Base;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    GraphOp train = program.getGraph(well_known::kTrain);
    if (!train)
      return;
    seed = runSettings(program).seed;
    int64_t stream = 0;
    auto [wanted] = recipe::read(program, dropoutKeys());
    if (wanted.value_or(0) != 0)
      explain(program, train);
    for (Operation &op : llvm::make_early_inc_range(train.getBody().front())) {
      double ratio = ratioOf(&op).value_or(0);
      if (wanted && ratioOf(&op) && (*wanted == 0 || !isBernoulliMask(&op)))
        ratio = *wanted;
      if (ratio != 0 && failed(drop(program, &op, {ratio}, stream++)))
        return signalPassFailure();
    }
  }

  /// The ratio of a dropout; nothing for other ops, and for attention that was
  /// expanded before.
  static std::optional<double> ratioOf(Operation *op) {
    if (auto dropout = dyn_cast<DropoutOp>(op))
      return dropout.getRatio().convertToDouble();
    auto attention = dyn_cast<AttentionOp>(op);
    if (attention && attention.getDropout() && !attention.getStep())
      return attention.getDropout()->convertToDouble();
    return std::nullopt;
  }

  /// Whether this is a Bernoulli mask of known probability, 1 or 0: a dropout
  /// of ones that is compared with 1. The model scales by that probability
  /// itself, so the mask must keep its ratio.
  static bool isBernoulliMask(Operation *op) {
    auto dropout = dyn_cast<DropoutOp>(op);
    if (!dropout || !matchPattern(dropout.getInput(), m_OneFloat()))
      return false;
    return llvm::any_of(dropout->getUsers(), [&](Operation *user) {
      auto compare = dyn_cast<arith::CmpFOp>(user);
      if (!compare)
        return false;
      bool isLeft = compare.getLhs() == dropout.getResult();
      return matchPattern(isLeft ? compare.getRhs() : compare.getLhs(),
                          m_OneFloat());
    });
  }

  /// Warns of dropouts that the recipe's ratio does not change.
  static void explain(ProgramOp program, GraphOp train) {
    if (!mayDrop(train))
      recipe::keyWarning(program, "dropout")
          << "changes nothing: the model has no dropout that could take it";
    if (int64_t count =
            llvm::count_if(train.getBody().front(),
                           [](Operation &op) { return isBernoulliMask(&op); }))
      recipe::keyWarning(program, "dropout")
          << "leaves " << count
          << (count == 1 ? " Bernoulli mask" : " Bernoulli masks")
          << " of the model alone (stochastic depth, or dropout of channels as "
             "torch.export writes it): the chance stays the model's, and only "
             "0 stops it";
  }

  /// Whether the graph has dropout, maybe expanded by this pass before. Other
  /// random numbers of the model do not count.
  static bool mayDrop(GraphOp train) {
    return llvm::any_of(train.getBody().front(), [](Operation &op) {
      if (auto bits = dyn_cast<RandomBitsOp>(op))
        return bits.getStream() < kDropoutStreams;
      auto attention = dyn_cast<AttentionOp>(op);
      return isa<DropoutOp>(op) || (attention && attention.getDropout());
    });
  }

  LogicalResult drop(ProgramOp program, Operation *op, Dropping dropping,
                     int64_t stream) {
    OpBuilder builder(op);
    auto counter = RankedTensorType::get({}, builder.getI64Type());
    if (failed(ensureState(program, well_known::kStep, counter, Role::counter)))
      return failure();
    Value step = readState(builder, op->getLoc(), well_known::kStep, counter);
    report(op, dropping.ratio);
    if (auto attention = dyn_cast<AttentionOp>(op))
      tell(attention, step, dropping, stream);
    else
      expand(cast<DropoutOp>(op), step, dropping, stream);
    return success();
  }

  /// Sets up attention to apply dropout in its kernel.
  void tell(AttentionOp op, Value step, Dropping dropping, int64_t stream) {
    op.getStepMutable().assign(step);
    op.setDropout(APFloat(dropping.ratio));
    op.setStream(stream);
    op.setSeed(seed);
  }

  /// Replaces the op by a selection between the scaled elements and zeros.
  void expand(DropoutOp op, Value step, Dropping dropping, int64_t stream) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto bits = op.getType().clone(builder.getI64Type());
    Value drawn = RandomBitsOp::create(builder, loc, bits, step, stream, seed);
    Value dropped =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, drawn,
                              splat(builder, loc, bits, dropping.limit()));
    Arithmetic math(builder, loc);
    Value input = op.getInput(),
          larger = math.multiply(input, math.number(dropping.factor(), input));
    op.getResult().replaceAllUsesWith(
        math.select(dropped, math.number(0, input), larger));
    op.erase();
  }

  void report(Operation *op, double ratio) {
    remark::passed(op->getLoc(),
                   remark::RemarkOpts::name("Dropout").category(getArgument()))
        << "drops " << std::to_string(ratio) << " of its elements in @train";
  }

  int64_t seed = 0;
};

} // namespace

const recipe::Keys<DropoutSettings> &dropoutKeys() {
  using recipe::Field;
  static const recipe::Keys<DropoutSettings> keys = {
      Field{"dropout", recipe::Kind::number, "null",
            "part of its elements that every dropout drops in training; null: "
            "as the model says"}
          .from(0)
          .below(1)
          .into(&DropoutSettings::ratio)};
  return keys;
}

} // namespace gradus

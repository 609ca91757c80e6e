// Adds weight decay to the gradients of optimizers whose decay goes through
// them.
//
// A pass of its own, so that methods on gradients can come before or after it.
// Optimizers that take decay off the parameter themselves do so in their rule.

#include "passes/clock.h"
#include "passes/numbers.h"
#include "passes/optimizers/parameters.h"
#include "passes/optimizers/sgd.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/step_variants.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_WEIGHTDECAY
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Marks updates that have been looked at: decay is added once.
constexpr StringLiteral kDecayed = "gradus.decayed";

/// An update whose gradient takes the decay; null where none does.
struct Decayed {
  ParameterUpdate update;
  ParameterSettings settings;
};

struct WeightDecayPass : impl::WeightDecayBase<WeightDecayPass> {
  using Base::Base;

  void runOnOperation() override {
    for (GraphOp train : trainGraphs(getOperation()))
      if (failed(decayAll(train)))
        return signalPassFailure();
  }

  LogicalResult decayAll(GraphOp train) {
    ParameterGroups groups(getOperation());
    std::vector<Decayed> decayed;
    for (auto update : train.getBody().front().getOps<ParameterUpdate>()) {
      ParameterSettings settings = groups.settingsOf(update.getParameterName());
      if (!update->hasAttr(kDecayed) && settings.couplesDecay() &&
          settings.common.weightDecay.initial != 0)
        decayed.push_back({update, settings});
    }
    return decayed.empty() ? success() : decay(train, decayed);
  }

  LogicalResult decay(GraphOp train, ArrayRef<Decayed> decayed) {
    OpBuilder builder(decayed.front().update);
    Arithmetic math(builder, train.getLoc());
    auto clock = readClock(builder, train.getLoc(), getOperation());
    if (failed(clock))
      return failure();
    auto schedules = Schedules::read(math, getOperation(), clock->step);
    if (failed(schedules))
      return failure();
    States states(getOperation());
    for (const Decayed &each : decayed)
      if (failed(addDecay(each, states, schedules->factorOf("weight_decay"))))
        return failure();
    return success();
  }

  /// `gradient + weight_decay * parameter`, the other way for `maximize`. Where
  /// momentum has been added to the gradient already, decay gets its own.
  LogicalResult addDecay(Decayed decayed, States &states, Value factor) {
    ParameterUpdate update = decayed.update;
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    OpOperand &gradient = update.getGradientUse();
    RankedTensorType type = tensorType(gradient.get());
    Value parameter =
        readState(builder, update.getLoc(), update.getParameterName(), type);
    const OptimizerSettings &settings = decayed.settings.common;
    Value decay = readHyperparameter(math, states, settings.weightDecay,
                                     settings.isSingle);
    if (!decay)
      return failure();
    if (settings.maximize)
      decay = math.negate(decay);
    if (factor)
      decay = math.multiply(factor, decay);
    Value rate = spreadLike(math, decay, parameter);
    Value pull = math.multiply(rate, parameter);
    if (update->hasAttr(kHasMomentum) &&
        !(pull = withMomentum(math, decayed, states, pull)))
      return failure();
    gradient.set(math.add(gradient.get(), pull));
    update->setAttr(kDecayed, builder.getUnitAttr());
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Decayed").category(getArgument()))
        << update.getParameterName() << " decays through its gradient";
    return success();
  }

  /// Adds up the momentum of sgd; null with an error where the model has a
  /// state of its name.
  Value withMomentum(const Arithmetic &math, const Decayed &decayed,
                     States &states, Value pull) {
    ParameterUpdate update = decayed.update;
    auto sgd = decayed.settings.own.as<SgdSettings>();
    std::string cut = slotSuffixOf(update->getParentOfType<GraphOp>()),
                slot =
                    ("sgd" + cut + "/decay/" + update.getParameterName()).str();
    Value factor =
        readNumber(math.builder, math.loc, getOperation(), sgd.momentum);
    if (!factor || failed(states.ensure(slot, tensorType(pull), Role::slot)))
      return {};
    Value old = readState(math.builder, math.loc, slot, tensorType(pull));
    Velocity velocity = nextVelocity(math, factor, sgd.nesterov, old, pull);
    writeState(math.builder, math.loc, slot, velocity.kept);
    return velocity.direction;
  }
};

} // namespace
} // namespace gradus

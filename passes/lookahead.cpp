// Lets slow copies of the parameters follow them every few updates, and the
// parameters go on from there. Zhang et al., "Lookahead Optimizer: k steps
// forward, 1 step back", https://arxiv.org/abs/1907.08610, algorithm 1.
//
// Runs after the optimizer, whichever it is: it sees only writes of parameters.

#include "passes/lookahead.h"

#include "passes/clock.h"
#include "passes/numbers.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_LOOKAHEAD
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kSlow = "lookahead/slow/";

struct LookaheadPass : impl::LookaheadBase<LookaheadPass> {
  using Base::Base;

  void runOnOperation() override {
    auto settings = lookahead().of(getOperation());
    if (!settings || isDone())
      return;
    for (GraphOp train : trainGraphs(getOperation()))
      if (failed(follow(train, *settings)))
        return signalPassFailure();
  }

  bool isDone() {
    return llvm::any_of(
        getOperation().getBody().getOps<StateOp>(),
        [](StateOp state) { return state.getSymName().starts_with(kSlow); });
  }

  /// What all parameters of a step share: scalars.
  struct Step {
    Value isFirst, isLast; // of the `steps` updates: whether all meet after it
    Value rate;
  };

  FailureOr<Step> stepOf(const Arithmetic &math, States &states,
                         const LookaheadSettings &settings) {
    auto clock = readClock(math.builder, math.loc, getOperation());
    Value rate = readNumber(math.builder, math.loc, states, settings.rate);
    if (failed(clock) || !rate)
      return failure();
    Value number = clock->number, count = math.number(settings.steps, number);
    Value rounds = math.floor(math.divide(number, count));
    Value since = math.subtract(number, math.multiply(rounds, count));
    return Step{math.less(number, math.number(1.5, number)),
                math.less(since, math.number(0.5, since)), rate};
  }

  LogicalResult follow(GraphOp train, const LookaheadSettings &settings) {
    OpBuilder builder(train.getBody().front().getTerminator());
    Arithmetic math(builder, train.getLoc());
    SmallVector<WriteOp> writes; // of parameters
    bool writesStep = false;
    for (auto write : train.getBody().front().getOps<WriteOp>()) {
      writesStep |= write.getState() == well_known::kStep;
      if (getOperation().getState(write.getState()).getRole() ==
          Role::parameter)
        writes.push_back(write);
    }
    if (writes.empty())
      return success();
    auto step = [&] {
      States states(getOperation());
      return stepOf(math, states, settings);
    }();
    if (failed(step))
      return failure();
    States states(getOperation());
    for (WriteOp write : writes)
      if (failed(meet(math, write, *step, states)))
        return failure();
    if (!writesStep)
      advanceClock(builder, train.getLoc(), getOperation());
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("Lookahead").category(getArgument()))
        << std::to_string(writes.size()) << " parameters of @"
        << train.getSymName() << " are followed every "
        << std::to_string(settings.steps) << " updates";
    return success();
  }

  /// slow + rate * (parameter - slow) in both where they meet. The slow copy
  /// begins as the parameter before its first update.
  LogicalResult meet(const Arithmetic &math, WriteOp write, const Step &step,
                     States &states) {
    Value fast = write.getValue();
    RankedTensorType type = tensorType(fast);
    std::string name = (kSlow + write.getState()).str();
    if (failed(states.ensure(name, type, Role::slot)))
      return failure();
    auto everywhere = [&](Value scalar) {
      return broadcastScalar(math.builder, math.loc, scalar, type.getShape());
    };
    Value before = readState(math.builder, math.loc, write.getState(), type);
    Value slow = math.select(everywhere(step.isFirst), before,
                             readState(math.builder, math.loc, name, type));
    Value way = math.multiply(spreadLike(math, step.rate, fast),
                              math.subtract(fast, slow));
    Value both = math.add(slow, way), meets = everywhere(step.isLast);
    writeState(math.builder, math.loc, name, math.select(meets, both, slow));
    writeState(math.builder, math.loc, write.getState(),
               math.select(meets, both, fast));
    write.erase();
    return success();
  }
};

recipe::Field lookaheadKey() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using L = LookaheadSettings;
  const Keys<L> keys = {
      Field{"steps", integer, "5", "updates after which all meet"}
          .from(1)
          .below(1e9)
          .into(&L::steps),
      Field{"rate", number, "0.5", "part of the way that slow weights go"}
          .from(1e-6)
          .below(1)
          .into(&L::rate)};
  return Field{"lookahead", object, "null",
               "slow weights that follow the optimizer's every few updates"}
      .of(keys)
      .switched()
      .flagged();
}

} // namespace

const recipe::Method<LookaheadSettings> &lookahead() {
  static const recipe::Method<LookaheadSettings> method{lookaheadKey()};
  return method;
}

} // namespace gradus

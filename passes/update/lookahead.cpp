// Lets slow copies of the parameters follow them every few updates, and the
// parameters go on from there. Zhang et al., "Lookahead Optimizer: k steps
// forward, 1 step back", https://arxiv.org/abs/1907.08610, algorithm 1.
//
// Runs after the optimizer, whichever it is: it sees only writes of parameters.

#include "passes/update/lookahead.h"

#include "passes/clock.h"
#include "passes/numbers.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

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
    findFollowed();
    for (GraphOp train : trainGraphs(getOperation()))
      if (!followed.empty() && failed(follow(train, *settings)))
        return signalPassFailure();
  }

  bool isDone() {
    return llvm::any_of(
        getOperation().getBody().getOps<StateOp>(),
        [](StateOp state) { return state.getSymName().starts_with(kSlow); });
  }

  /// Scalars that all parameters of a step share.
  struct Step {
    Value isFirst, isLast; // of the `steps` updates: whether all meet after it
    Value rate;
  };

  FailureOr<Step> stepOf(const Arithmetic &math,
                         const LookaheadSettings &settings) {
    auto clock = readClock(math.builder, math.loc, getOperation());
    Value rate =
        readNumber(math.builder, math.loc, getOperation(), settings.rate);
    if (failed(clock) || !rate)
      return failure();
    Value number = clock->number, count = math.number(settings.steps, number);
    Value rounds = math.floor(math.divide(number, count));
    Value since = math.subtract(number, math.multiply(rounds, count));
    return Step{math.less(number, math.number(1.5, number)),
                math.less(since, math.number(0.5, since)), rate};
  }

  /// The parameters that some step writes. A step that gradient freezing makes
  /// smaller counts as one for all of them: what rests meets, too.
  void findFollowed() {
    followed.clear();
    States states(getOperation());
    for (GraphOp graph : trainGraphs(getOperation()))
      for (auto write : graph.getBody().front().getOps<WriteOp>())
        if (states.find(write.getState()).getRole() == Role::parameter)
          followed.insert(write.getStateAttr().getAttr());
  }

  LogicalResult follow(GraphOp train, const LookaheadSettings &settings) {
    OpBuilder builder(train.getBody().front().getTerminator());
    Arithmetic math(builder, train.getLoc());
    llvm::StringMap<WriteOp> writes;
    for (auto write : train.getBody().front().getOps<WriteOp>())
      writes[write.getState()] = write;
    FailureOr<Step> step = stepOf(math, settings);
    States states(getOperation());
    for (StringAttr name : followed)
      if (failed(step) ||
          failed(meet(math, name, writes.lookup(name), *step, states)))
        return failure();
    if (!writes.contains(well_known::kStep))
      advanceClock(builder, train.getLoc(), getOperation());
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("Lookahead").category(getArgument()))
        << std::to_string(followed.size()) << " parameters of @"
        << train.getSymName() << " are followed every "
        << std::to_string(settings.steps) << " updates";
    return success();
  }

  /// slow + rate * (parameter - slow) in both where they meet. The slow copy
  /// begins as the parameter before the first update. `write` is null where the
  /// step lets the parameter rest.
  LogicalResult meet(const Arithmetic &math, StringAttr parameter,
                     WriteOp write, const Step &step, States &states) {
    auto type = cast<RankedTensorType>(states.find(parameter).getType());
    std::string name = (kSlow + parameter.getValue()).str();
    if (failed(states.ensure(name, type, Role::slot)))
      return failure();
    auto everywhere = [&](Value scalar) {
      return broadcastScalar(math.builder, math.loc, scalar, type.getShape());
    };
    Value before = readState(math.builder, math.loc, parameter, type);
    Value fast = write ? write.getValue() : before;
    Value slow = math.select(everywhere(step.isFirst), before,
                             readState(math.builder, math.loc, name, type));
    Value way = math.multiply(spreadLike(math, step.rate, fast),
                              math.subtract(fast, slow));
    Value both = math.add(slow, way), meets = everywhere(step.isLast);
    writeState(math.builder, math.loc, name, math.select(meets, both, slow));
    writeState(math.builder, math.loc, parameter,
               math.select(meets, both, fast));
    if (write)
      write.erase();
    return success();
  }

  llvm::SetVector<StringAttr> followed; // names
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

// Keeps a moving average of the parameters, and adds a graph that evaluates it.
//
// Runs after the optimizer and averages the parameters at the end of a step.
// With several batches per update only updates count. All parameters are
// averaged at each update, including those that gradient freezing leaves
// unchanged.

#include "passes/update/average_weights.h"

#include "ir/arithmetic.h"
#include "passes/clock.h"
#include "passes/numbers.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace gradus {
#define GEN_PASS_DEF_AVERAGEWEIGHTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kAverage = "ema/average/";

std::string averageOf(StringRef parameter) {
  return (kAverage + parameter).str();
}

struct AverageWeightsPass : impl::AverageWeightsBase<AverageWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp train = getOperation().getGraph(well_known::kTrain);
    auto settings = movingAverage().of(getOperation());
    if (!train || !settings || isDone())
      return;
    findAveraged();
    for (GraphOp graph : trainGraphs(getOperation()))
      if (failed(average(graph, *settings)))
        return signalPassFailure();
    if (GraphOp evaluate = getOperation().getGraph(well_known::kEvaluate))
      addEvaluation(evaluate);
  }

  bool isDone() {
    return llvm::any_of(
        getOperation().getBody().getOps<StateOp>(),
        [](StateOp state) { return state.getSymName().starts_with(kAverage); });
  }

  /// Collects the parameters that some step writes.
  void findAveraged() {
    averaged.clear();
    States states(getOperation());
    for (GraphOp graph : trainGraphs(getOperation()))
      for (auto write : graph.getBody().front().getOps<WriteOp>())
        if (states.find(write.getState()).getRole() == Role::parameter)
          averaged.insert(write.getStateAttr().getAttr());
  }

  LogicalResult average(GraphOp train, const AverageSettings &ema) {
    Block &block = train.getBody().front();
    OpBuilder builder(block.getTerminator());
    auto clock = readClock(builder, train.getLoc(), getOperation());
    if (failed(clock))
      return failure();
    Arithmetic math(builder, train.getLoc());
    Value first = math.less(clock->number, math.number(1.5, clock->number));
    llvm::StringMap<Value> written;
    for (auto write : block.getOps<WriteOp>())
      written[write.getState()] = write.getValue();
    States states(getOperation());
    Value decay = readNumber(builder, train.getLoc(), states, ema.decay);
    if (!decay)
      return failure();
    for (StringAttr name : averaged) {
      std::string average = averageOf(name);
      Value parameter = written.lookup(name);
      if (!parameter) // it is frozen
        parameter =
            readState(builder, train.getLoc(), name,
                      cast<RankedTensorType>(states.find(name).getType()));
      if (failed(states.ensure(average, tensorType(parameter), Role::slot)))
        return failure();
      states.find(average).setDiffersAlongAttr(
          states.find(name).getDiffersAlongAttr());
      append(builder, average, parameter, first, clock->number, decay,
             ema.warmup);
    }
    if (!written.contains(well_known::kStep))
      advanceClock(builder, train.getLoc(), getOperation());
    return success();
  }

  /// 1 - decay, the share of the new parameter in an average `like` it. While
  /// the average warms up, the decay is (1 + n) / (10 + n) at the n-th update.
  static Value shareOf(const Arithmetic &math, Value decay, bool warmup,
                       Value update, Value like) {
    Value last = math.subtract(math.number(1, decay), decay);
    if (!warmup)
      return spreadLike(math, last, like);
    Value sum = math.add(update, math.number(10, update));
    Value share = math.larger(last, math.divide(math.number(9, update), sum));
    return spreadLike(math, share, like);
  }

  /// Writes `decay * average + (1 - decay) * parameter`, or first the
  /// parameter.
  static void append(OpBuilder &builder, StringRef state, Value parameter,
                     Value first, Value update, Value decay, bool warmup) {
    Location loc = parameter.getLoc();
    Arithmetic math(builder, loc);
    RankedTensorType type = tensorType(parameter);
    Value old = readState(builder, loc, state, type);
    Value change = math.multiply(shareOf(math, decay, warmup, update, old),
                                 math.subtract(parameter, old));
    Value begins = broadcastScalar(builder, loc, first, type.getShape());
    writeState(builder, loc, state,
               math.select(begins, parameter, math.add(old, change)));
  }

  /// True after the first update; before, there is no average.
  Value hasBegun(OpBuilder &builder, Location loc) {
    FailureOr<Clock> clock = readClock(builder, loc, getOperation());
    if (failed(clock)) // was reported for @train
      return {};
    Arithmetic math(builder, loc);
    return math.less(math.number(0.5, clock->step), clock->step);
  }

  static void takeAverage(ReadOp read, Value begun) {
    OpBuilder builder(read->getContext());
    builder.setInsertionPointAfter(read);
    RankedTensorType type = tensorType(read.getResult());
    Value average =
        readState(builder, read.getLoc(), averageOf(read.getState()), type);
    Value chosen =
        broadcastScalar(builder, read.getLoc(), begun, type.getShape());
    auto either = arith::SelectOp::create(builder, read.getLoc(), chosen,
                                          average, read.getResult());
    read.getResult().replaceAllUsesExcept(either.getResult(), either);
  }

  void addEvaluation(GraphOp evaluate) {
    OpBuilder builder(evaluate);
    builder.setInsertionPointAfter(evaluate);
    auto clone = cast<GraphOp>(builder.clone(*evaluate));
    clone.setSymName(well_known::kEvaluateAveraged);
    OpBuilder inside = OpBuilder::atBlockBegin(&clone.getBody().front());
    Value begun = hasBegun(inside, clone.getLoc());
    for (auto read : llvm::to_vector(clone.getBody().front().getOps<ReadOp>()))
      if (averaged.contains(read.getStateAttr().getAttr()))
        takeAverage(read, begun);
    remark::passed(clone.getLoc(),
                   remark::RemarkOpts::name("Averaged").category(getArgument()))
        << "@evaluate_ema uses averages of " << std::to_string(averaged.size())
        << " parameters";
  }

  llvm::SetVector<StringAttr> averaged; // their names
};

recipe::Field averageKey() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Ema = AverageSettings;
  const Keys<Ema> keys = {
      Field{"decay", number, "0.999", "of the average"}.from(0).below(1).into(
          &Ema::decay),
      Field{"warmup", boolean, "false",
            "a smaller decay at first: (1 + n) / (10 + n) at the n-th update, "
            "as long as that is smaller"}
          .into(&Ema::warmup)};
  return Field{"ema", object, "null",
               "keeps a moving average of the parameters"}
      .of(keys)
      .switched()
      .flagged();
}

} // namespace

const recipe::Method<AverageSettings> &movingAverage() {
  static const recipe::Method<AverageSettings> method{averageKey()};
  return method;
}

} // namespace gradus

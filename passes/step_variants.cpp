// The state, the arithmetic and the schedule of variants; see step_variants.h.

#include "passes/step_variants.h"

#include "ir/build.h"
#include "passes/clock.h"
#include "passes/state.h"

using namespace mlir;

namespace gradus {
namespace {

FlatSymbolRefAttr symbol(Operation *op, StringRef name) {
  return FlatSymbolRefAttr::get(op->getContext(), name);
}

/// The schedule of @train; null if there is none.
ScheduleOp scheduleOf(ProgramOp program) {
  for (auto schedule : program.getBody().getOps<ScheduleOp>())
    if (schedule.getGraph() == kTrain)
      return schedule;
  return {};
}

SmallVector<std::string> graphsOf(ScheduleOp schedule) {
  SmallVector<std::string> graphs;
  for (auto variant : schedule.getBody().getOps<VariantOp>())
    graphs.push_back(variant.getGraph().str());
  return graphs;
}

/// Fails if a schedule of @train is not one of those made here; null is none.
LogicalResult checkOwner(ScheduleOp schedule) {
  if (!schedule || schedule.getCounter() == kVariantState)
    return success();
  return schedule.emitError("is the program's own schedule of @train, beside "
                            "which no method can have variants of the step: "
                            "gradient_freeze, accumulation and precondition "
                            "need a program without one");
}

/// Fails if a variant has the name of a graph of the model, beside which it
/// stands then.
LogicalResult checkNames(ProgramOp program, ArrayRef<std::string> variants) {
  for (auto graph : program.getBody().getOps<GraphOp>())
    if (!graph->hasAttr(kTrains) &&
        llvm::is_contained(variants, graph.getSymName()))
      return graph.emitError("@" + graph.getSymName() +
                             " is a graph of the model, but training derives "
                             "a variant of that name from @" +
                             kTrain + "; rename it in the model");
  return success();
}

/// Runs each graph where the state has its number.
void schedule(ProgramOp program, ArrayRef<std::string> graphs) {
  if (ScheduleOp old = scheduleOf(program))
    old.erase();
  ScheduleOp schedule = addSchedule(program, kVariantState);
  for (auto [i, graph] : llvm::enumerate(graphs))
    addCase(schedule, graph, graphs.size(), i);
}

/// The number of the next step's batch: its update, and its place in it.
struct Batch {
  Value update, place;
};

Batch nextBatch(OpBuilder &builder, Location loc, ProgramOp program) {
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  Value done = readState(builder, loc, countingState(program), scalar);
  Value next =
      arith::AddIOp::create(builder, loc, done, splatLike(builder, done, 1));
  int64_t batches = stepsPerUpdate(program);
  if (batches == 1)
    return {next, {}};
  Value size = splatLike(builder, next, batches);
  return {arith::DivSIOp::create(builder, loc, next, size),
          arith::RemSIOp::create(builder, loc, next, size)};
}

WriteOp writeOfVariant(GraphOp graph) {
  for (auto write : graph.getBody().front().getOps<WriteOp>())
    if (write.getState() == kVariantState)
      return write;
  return {};
}

/// The earlier choice where there is one, else the new one behind all `earlier`
/// ones.
Value combined(OpBuilder &builder, Value old, Value chosen, int64_t earlier) {
  Location loc = chosen.getLoc();
  Value none = splatLike(builder, chosen, 0);
  auto is = [&](Value value) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                 none);
  };
  Value moved = arith::AddIOp::create(builder, loc, chosen,
                                      splatLike(builder, chosen, earlier - 1));
  Value own = arith::SelectOp::create(builder, loc, is(chosen), moved, none);
  return arith::SelectOp::create(builder, loc, is(old), old, own);
}

/// `count` at the last of the batches of an update, else 0.
Value ifLast(OpBuilder &builder, Value place, int64_t batches, int64_t count) {
  Location loc = place.getLoc();
  Value isLast =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, place,
                            splatLike(builder, place, batches - 1));
  return arith::SelectOp::create(builder, loc, isLast,
                                 splatLike(builder, place, count),
                                 splatLike(builder, place, 0));
}

/// Makes each training graph write the variant of the next step: what
/// `revise` makes of the value that it would write, which is null at first.
void reviseNext(ProgramOp program,
                function_ref<Value(OpBuilder &, Value old)> revise) {
  auto graphs = trainGraphs(program);
  llvm::append_range(graphs, graphsThat(kAccumulates, program));
  for (GraphOp graph : graphs) {
    WriteOp write = writeOfVariant(graph);
    OpBuilder builder(graph.getBody().front().getTerminator());
    Value old = write ? write.getValue() : Value();
    Value next = revise(builder, old);
    if (write)
      write.erase();
    writeState(builder, graph.getLoc(), kVariantState, next);
  }
}

} // namespace

GraphOp cloneVariant(GraphOp train, const Twine &name, StringRef what) {
  OpBuilder builder(train);
  builder.setInsertionPointAfter(train);
  auto variant = cast<GraphOp>(builder.clone(*train));
  variant.setSymName(name.str());
  variant->setAttr(kTrains, builder.getStringAttr(what));
  return variant;
}

LogicalResult addChoices(ProgramOp program, ArrayRef<std::string> graphs,
                         int64_t first, Choice choose) {
  ScheduleOp old = scheduleOf(program);
  if (failed(checkOwner(old)) || failed(checkNames(program, graphs)))
    return failure();
  SmallVector<std::string> all =
      old ? graphsOf(old) : SmallVector<std::string>{kTrain.str()};
  int64_t earlier = all.size();
  auto scalar =
      RankedTensorType::get({}, IntegerType::get(program.getContext(), 64));
  if (failed(ensureClock(program)) ||
      failed(ensureState(program, kVariantState, scalar, Role::counter)))
    return failure();
  StateOp state = program.getState(kVariantState);
  if (!state.getInit())
    return state.emitOpError("is the model's, but training keeps under that "
                             "name which variant of the step runs next; rename "
                             "it in the model");
  if (first > 0 && state.getInit()->getRule() == Initializer::zeros)
    setInitial(state, double(first + earlier - 1));
  reviseNext(program, [&](OpBuilder &builder, Value chosen) {
    Location loc = program.getLoc();
    Value own = choose(builder, nextBatch(builder, loc, program).update);
    return chosen ? combined(builder, chosen, own, earlier) : own;
  });
  llvm::append_range(all, graphs);
  schedule(program, all);
  return success();
}

LogicalResult addTurns(ProgramOp program, ArrayRef<std::string> others) {
  if (failed(checkNames(program, others)) || failed(ensureClock(program)))
    return failure();
  auto count = static_cast<int64_t>(others.size() + 1);
  ScheduleOp schedule = addSchedule(program, countingState(program));
  addCase(schedule, kTrain, count, 0);
  for (auto [i, graph] : llvm::enumerate(others))
    addCase(schedule, graph, count, static_cast<int64_t>(i + 1));
  return success();
}

LogicalResult
addAccumulation(ProgramOp program,
                function_ref<std::string(StringRef train)> accumulating) {
  int64_t batches = stepsPerUpdate(program);
  ScheduleOp old = scheduleOf(program);
  SmallVector<std::string> updating =
      old ? graphsOf(old) : SmallVector<std::string>{kTrain.str()};
  SmallVector<std::string> all;
  for (const std::string &graph : updating)
    all.push_back(accumulating(graph));
  if (failed(checkOwner(old)) || failed(checkNames(program, all)))
    return failure();
  if (!old) { // The number of the step tells its place in the update.
    if (failed(ensureClock(program)))
      return failure();
    ScheduleOp schedule = addSchedule(program, countingState(program));
    addCase(schedule, all.front(), 1, 0);
    addCase(schedule, kTrain, batches, batches - 1);
    return success();
  }
  llvm::append_range(all, updating);
  reviseNext(program, [&](OpBuilder &builder, Value chosen) {
    Value place = nextBatch(builder, program.getLoc(), program).place;
    return arith::AddIOp::create(
        builder, program.getLoc(), chosen,
        ifLast(builder, place, batches, int64_t(updating.size())));
  });
  schedule(program, all);
  return success();
}

ScheduleOp addSchedule(ProgramOp program, StringRef counter) {
  auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
  auto schedule =
      ScheduleOp::create(builder, program.getLoc(), symbol(program, kTrain),
                         symbol(program, counter));
  builder.createBlock(&schedule.getBody());
  return schedule;
}

void addCase(ScheduleOp schedule, StringRef graph, int64_t every, int64_t at) {
  auto builder = OpBuilder::atBlockEnd(&schedule.getBody().front());
  VariantOp::create(builder, schedule.getLoc(), symbol(schedule, graph),
                    builder.getI64IntegerAttr(every),
                    builder.getI64IntegerAttr(at));
}

} // namespace gradus

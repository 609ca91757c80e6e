// Counters of steps and updates; see clock.h.

#include "passes/clock.h"
#include "passes/loss_scale.h"
#include "passes/state.h"
#include "runtime/well_known.h"

using namespace mlir;
using namespace gradus;

namespace {

enum class OnNonfinite { stop, skip, keepOn };

struct StepSettings {
  int64_t accumulation = 0;
  OnNonfinite onNonfinite = {};
};

const recipe::Keys<StepSettings> &stepKeys() {
  using enum recipe::Kind;
  using recipe::Field;
  static const recipe::Keys<StepSettings> keys = {
      Field{"accumulation", integer, "1",
            "batches whose gradients make one update, their mean"}
          .from(1)
          .flagged()
          .into(&StepSettings::accumulation),
      Field{"on_nonfinite", choice, "\"stop\"",
            "what happens when a number is none: the run stops, the step "
            "changes nothing, or training goes on as if it were one"}
          .among({{"stop"}, {"skip"}, {"continue"}})
          .into(&StepSettings::onNonfinite)};
  return keys;
}

} // namespace

const recipe::Field &gradus::accumulationKey() { return stepKeys()[0]; }
const recipe::Field &gradus::nonfiniteKey() { return stepKeys()[1]; }

int64_t gradus::stepsPerUpdate(ProgramOp program) {
  return recipe::read(program, stepKeys()).accumulation;
}

bool gradus::skipsSteps(ProgramOp program) {
  return lossScale().of(program) ||
         recipe::read(program, stepKeys()).onNonfinite == OnNonfinite::skip;
}

StringRef gradus::countingState(ProgramOp program) {
  return skipsSteps(program) ? well_known::kAcceptedSteps : well_known::kStep;
}

static RankedTensorType counterType(Builder &builder) {
  return RankedTensorType::get({}, builder.getI64Type());
}

static Value readCounter(OpBuilder &builder, Location loc, StringRef name) {
  return readState(builder, loc, name, counterType(builder));
}

LogicalResult gradus::ensureClock(ProgramOp program) {
  Builder builder(program.getContext());
  for (StringRef name : {StringRef(well_known::kStep), countingState(program)})
    if (failed(ensureState(program, name, counterType(builder), Role::counter)))
      return failure();
  return success();
}

FailureOr<Clock> gradus::readClock(OpBuilder &builder, Location loc,
                                   ProgramOp program) {
  if (failed(ensureClock(program)))
    return failure();
  Value count = readCounter(builder, loc, countingState(program));
  if (int64_t steps = stepsPerUpdate(program); steps > 1)
    count = arith::DivSIOp::create(builder, loc, count,
                                   splatLike(builder, count, steps));
  Arithmetic math(builder, loc);
  Clock clock;
  clock.step = arith::SIToFPOp::create(
      builder, loc, counterType(builder).clone(builder.getF64Type()), count);
  clock.number = math.add(clock.step, math.number(1, clock.step));
  return clock;
}

Value gradus::isFirstOfUpdate(OpBuilder &builder, Location loc,
                              ProgramOp program) {
  Value count = readCounter(builder, loc, countingState(program));
  Value steps = splatLike(builder, count, stepsPerUpdate(program));
  Value done = arith::RemSIOp::create(builder, loc, count, steps);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, done,
                               splatLike(builder, done, 0));
}

void gradus::advanceClock(OpBuilder &builder, Location loc, ProgramOp program) {
  llvm::SetVector<StringRef> counters;
  counters.insert(well_known::kStep);
  counters.insert(countingState(program));
  for (StringRef name : counters) {
    Value count = readCounter(builder, loc, name);
    Value one = splatLike(builder, count, 1);
    writeState(builder, loc, name,
               arith::AddIOp::create(builder, loc, count, one));
  }
}

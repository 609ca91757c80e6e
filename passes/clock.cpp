// Counters of steps and updates; see clock.h.

#include "passes/clock.h"
#include "passes/state.h"

using namespace mlir;
using namespace gradus;

int64_t gradus::stepsPerUpdate(const RecipeObject &recipe) {
  return std::max<int64_t>(1, recipe.integer("accumulation", 1));
}

bool gradus::skipsSteps(const RecipeObject &recipe) {
  return recipe.has("loss_scale") ||
         recipe.text("on_nonfinite", "stop") == "skip";
}

StringRef gradus::countingState(const RecipeObject &recipe) {
  return skipsSteps(recipe) ? "accepted_steps" : "step";
}

static RankedTensorType counterType(OpBuilder &builder) {
  return RankedTensorType::get({}, builder.getI64Type());
}

static Value readCounter(OpBuilder &builder, Location loc, StringRef name) {
  return readState(builder, loc, name, counterType(builder));
}

FailureOr<Clock> gradus::readClock(OpBuilder &builder, Location loc,
                                   ProgramOp program) {
  RecipeObject recipe = recipeOf(program);
  StringRef counting = countingState(recipe);
  for (StringRef name : {StringRef("step"), counting})
    if (failed(ensureState(program, name, counterType(builder), Role::counter)))
      return failure();
  Value count = readCounter(builder, loc, counting);
  if (int64_t steps = stepsPerUpdate(recipe); steps > 1)
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
  RecipeObject recipe = recipeOf(program);
  Value count = readCounter(builder, loc, countingState(recipe));
  Value steps = splatLike(builder, count, stepsPerUpdate(recipe));
  Value done = arith::RemSIOp::create(builder, loc, count, steps);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, done,
                               splatLike(builder, done, 0));
}

void gradus::advanceClock(OpBuilder &builder, Location loc, ProgramOp program) {
  llvm::SetVector<StringRef> counters;
  counters.insert("step");
  counters.insert(countingState(recipeOf(program)));
  for (StringRef name : counters) {
    Value count = readCounter(builder, loc, name);
    Value one = splatLike(builder, count, 1);
    writeState(builder, loc, name,
               arith::AddIOp::create(builder, loc, count, one));
  }
}

// Schedules as arithmetic of the step counter; see schedules.h.

#include "passes/optimizers/schedules.h"

#include "passes/numbers.h"
#include "passes/optimizers/parameters.h"
#include "passes/optimizers/schedule_pieces.h"
#include "passes/state.h"

using namespace mlir;
using namespace gradus;
using recipe::Field;
using recipe::Fields;
using enum recipe::Kind;

namespace {

//===-- the recipe's key --------------------------------------------------===//

struct ScheduleSettings {
  using Pieces = std::vector<recipe::Value>;
  Pieces learningRate, momentum, dampening, weightDecay, epsilon, beta1, beta2,
      decayRate, damping;
};

struct Hyperparameter {
  StringLiteral key;
  ScheduleSettings::Pieces ScheduleSettings::*pieces;
};

constexpr Hyperparameter kHyperparameters[] = {
    {"learning_rate", &ScheduleSettings::learningRate},
    {"momentum", &ScheduleSettings::momentum},
    {"dampening", &ScheduleSettings::dampening},
    {"weight_decay", &ScheduleSettings::weightDecay},
    {"epsilon", &ScheduleSettings::epsilon},
    {"beta1", &ScheduleSettings::beta1},
    {"beta2", &ScheduleSettings::beta2},
    {"decay_rate", &ScheduleSettings::decayRate},
    {"damping", &ScheduleSettings::damping}};

ScheduleSettings settingsOf(ProgramOp program) {
  return recipe::valueOf(program, scheduleKey()).as<ScheduleSettings>();
}

/// Joins the pieces of one hyperparameter's schedule.
Value factorFor(const Arithmetic &math, const RunLength &run,
                const ScheduleSettings::Pieces &pieces, Value step) {
  Value factor;
  for (auto [piece, length] :
       llvm::zip(pieces, pieceLengths(math, run, pieces, step))) {
    bool isSingle = piece.as<PieceTiming>().isSingle;
    Value here =
        pieceKindOf(piece).factor({math, run, length.since(math, step),
                                   length.steps, length.tick(math), isSingle},
                                  piece);
    factor = factor ? math.select(math.less(step, length.first), factor, here)
                    : here;
  }
  return factor;
}

} // namespace

const Field &gradus::scheduleKey() {
  static const Field key = [] {
    Field piece = Field{"", variant, R"({"type": "constant"})",
                        "one piece of the schedule"}
                      .among(pieceChoices())
                      .definedAs("piece");
    Fields keys(runLengthKeys().begin(), runLengthKeys().end());
    for (const Hyperparameter &each : kHyperparameters)
      keys.push_back(Field{each.key, list, "[]", "pieces, one after the other"}
                         .of(Fields{piece})
                         .into(each.pieces));
    return Field{"schedule", object, "{}",
                 "how hyperparameters change with the step: factors on them"}
        .of(keys);
  }();
  return key;
}

FoundMistake gradus::scheduleMistake(const recipe::Value &schedule) {
  auto settings = schedule.as<ScheduleSettings>();
  for (const Hyperparameter &each : kHyperparameters) {
    const ScheduleSettings::Pieces &pieces = settings.*each.pieces;
    for (const recipe::Value &piece : pieces)
      if (auto found = pieceMistake(piece))
        return found;
    if (auto found = lengthMistake(pieces))
      return found;
  }
  return std::nullopt;
}

FailureOr<Schedules> Schedules::read(const Arithmetic &math, ProgramOp program,
                                     Value step) {
  Schedules result;
  ScheduleSettings settings = settingsOf(program);
  if (auto found = scheduleMistake(recipe::valueOf(program, scheduleKey())))
    return recipe::keyError(program, found->path) << found->words;
  RunLength run(math, program);
  for (const Hyperparameter &each : kHyperparameters)
    if (!(settings.*each.pieces).empty())
      result.factors_[each.key] =
          factorFor(math, run, settings.*each.pieces, step);
  return run.hasFailed() ? FailureOr<Schedules>(failure()) : result;
}

std::optional<int64_t> gradus::scheduleLength(ProgramOp program) {
  ScheduleSettings::Pieces pieces = settingsOf(program).learningRate;
  if (pieces.empty() || lengthMistake(pieces))
    return std::nullopt;
  Block block;
  OpBuilder builder(program.getContext());
  builder.setInsertionPointToEnd(&block);
  Arithmetic math(builder, program.getLoc());
  RunLength run(math, program);
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  PieceLength last =
      pieceLengths(math, run, pieces, splat(builder, math.loc, scalar, 0))
          .back();
  double length = knownNumber(last.first).value_or(0);
  if (last.steps)
    length += knownNumber(math.multiply(last.steps, last.unit)).value_or(0);
  else
    length = std::max(length * 1.5, 1000.0);
  return std::clamp(length, 1.0, 1e12);
}

bool gradus::awaitsRunLength(ProgramOp program) {
  auto run = recipe::valueOf(program, scheduleKey()).as<RunLengthSettings>();
  return !(run.updates && run.updatesPerEpoch) &&
         llvm::any_of(settingsOf(program).learningRate, isOfRun);
}

// Schedules as arithmetic of the step counter; see schedules.h.

#include "passes/schedules.h"

#include "passes/parameters.h"
#include "passes/schedule_pieces.h"
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
      decayRate;
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
    {"decay_rate", &ScheduleSettings::decayRate}};

ScheduleSettings settingsOf(ProgramOp program) {
  return recipe::valueOf(program, scheduleKey()).as<ScheduleSettings>();
}

/// Joins the pieces of one hyperparameter's schedule.
class Sequence {
public:
  Sequence(const Arithmetic &math, Value step) : math(math), step(step) {}

  LogicalResult append(ProgramOp program, const recipe::Value &piece,
                       bool isLast) {
    auto length = pieceLength(program, piece, isLast);
    if (failed(length))
      return failure();
    auto timing = piece.as<PieceTiming>();
    Value since = sincePieceStart(math, step, first, timing);
    Value here = pieceKindOf(piece).factor(
        {math, since, *length, timing.isSingle}, piece);
    factor = first == 0 ? here
                        : math.select(math.less(step, math.number(first, step)),
                                      factor, here);
    first += length->value_or(0) * timing.every;
    return success();
  }

  Value factor;

private:
  const Arithmetic &math;
  Value step;
  double first = 0; // step of the next piece
};

FailureOr<Value> factorFor(const Arithmetic &math, ProgramOp program,
                           const ScheduleSettings::Pieces &pieces, Value step) {
  Sequence sequence(math, step);
  for (auto [index, piece] : llvm::enumerate(pieces))
    if (failed(sequence.append(program, piece, index + 1 == pieces.size())))
      return failure();
  return sequence.factor;
}

} // namespace

const Field &gradus::scheduleKey() {
  static const Field key = [] {
    Field piece = Field{"", variant, R"({"type": "constant"})",
                        "one piece of the schedule"}
                      .among(pieceChoices())
                      .definedAs("piece");
    Fields keys;
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

FailureOr<Schedules> Schedules::read(const Arithmetic &math, ProgramOp program,
                                     Value step) {
  Schedules result;
  ScheduleSettings settings = settingsOf(program);
  for (const Hyperparameter &each : kHyperparameters)
    if (!(settings.*each.pieces).empty()) {
      FailureOr<Value> factor =
          factorFor(math, program, settings.*each.pieces, step);
      if (failed(factor))
        return failure();
      result.factors[each.key] = *factor;
    }
  return result;
}

std::optional<int64_t> gradus::scheduleLength(ProgramOp program) {
  ScheduleSettings settings = settingsOf(program);
  if (settings.learningRate.empty())
    return std::nullopt;
  double length = 0;
  bool goesOn = false;
  for (const recipe::Value &piece : settings.learningRate) {
    auto [steps, every, isSingle] = piece.as<PieceTiming>();
    length += double(steps.value_or(0)) * double(every);
    goesOn = !steps;
  }
  if (goesOn)
    length = std::max(length * 1.5, 1000.0);
  return std::clamp(length, 1.0, 1e12);
}

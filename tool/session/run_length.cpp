// Lengths of pieces by the rule of the graph (recipe/piece_timing.h), in
// numbers.

#include "tool/session/run_length.h"

#include "recipe/piece_timing.h"
#include "runtime/well_known.h"
#include "tool/failure.h"
#include "tool/session/session_options.h"
#include "tool/session/set_numbers.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace gradus::cli {

double numberOf(const json &object, const char *key, double otherwise) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : otherwise;
}

namespace {

bool isTrue(const json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && *found == true;
}

PieceTiming timingOf(const json &piece) {
  auto counted = [&](const char *key) -> std::optional<double> {
    double number = numberOf(piece, key, 0);
    return number > 0 ? std::optional(number) : std::nullopt;
  };
  PieceTiming timing;
  if (auto steps = counted("steps"))
    timing.steps = static_cast<int64_t>(*steps);
  timing.epochs = counted("epochs");
  timing.fraction = counted("fraction");
  timing.isRest = isTrue(piece, "rest");
  timing.every = static_cast<int64_t>(numberOf(piece, "every", 1));
  if (auto interval = piece.find("interval"); interval != piece.end())
    timing.interval = *interval == "step"    ? Interval::step
                      : *interval == "epoch" ? Interval::epoch
                                             : Interval::smoothEpoch;
  return timing;
}

/// Whether the run's length says how long a piece, or a factor of it, is.
bool isOfRun(const json &piece) {
  auto factors = piece.find("factors");
  bool hasSuch = factors != piece.end() &&
                 std::any_of(factors->begin(), factors->end(), isOfRun);
  return hasSuch || timingOf(piece).isOfRun();
}

/// Arithmetic of numbers, as that of values in passes.
struct NumberMath {
  double number(double value, double) const { return value; }
  double add(double a, double b) const { return a + b; }
  double subtract(double a, double b) const { return a - b; }
  double scale(double factor, double a) const { return factor * a; }
  double floor(double a) const { return std::floor(a); }
  double larger(double a, double b) const { return std::max(a, b); }
};

/// The length of a run, as its session has it.
struct NumbersOfRun {
  explicit NumbersOfRun(const json &schedule) : schedule(schedule) {}
  double updates() const { return numberOf(schedule, "updates", 0); }
  double updatesPerEpoch() const {
    return numberOf(schedule, "updates_per_epoch", 0);
  }
  const json &schedule;
};

using NumberRule = PieceRule<NumberMath, NumbersOfRun, double>;

/// "the checkpoint's schedule is for a run of 100 updates, ..."
std::string otherLength(const char *name, const char *what, double now,
                        double own) {
  return absl::StrCat("the checkpoint's schedule is for ", what, " of ",
                      number("%g", now), " updates, and this run has ",
                      number("%g", own), ": it goes on as it began; --set ",
                      name, "=", number("%g", own), " makes it fit this run");
}

bool names(const std::vector<std::string> &settings, const std::string &key) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const std::string &setting) {
                       return setting.starts_with(key + "=");
                     });
}

} // namespace

std::vector<std::string> startRun(runtime::Session &session,
                                  const runtime::RunLength &length,
                                  const std::vector<std::string> &set) {
  runtime::RunLength now = take(runtime::runLengthOf(session));
  check(runtime::giveRunLength(session, length));
  json recipe = recipeOf(session);
  std::vector<std::string> warnings;
  auto compare = [&](const char *name, const char *what, double before,
                     double own) {
    bool isSaid = valueAt(recipe, name).is_number() || names(set, name);
    if (before != 0 && before != own && !isSaid)
      warnings.push_back(otherLength(name, what, before, own));
  };
  compare(well_known::kUpdates, "a run", now.updates, length.updates);
  compare(well_known::kUpdatesPerEpoch, "epochs", now.updatesPerEpoch,
          length.updatesPerEpoch);
  return warnings;
}

bool assumeRunLength(runtime::Session &session) {
  runtime::RunLength before = take(runtime::runLengthOf(session));
  check(runtime::giveRunLength(session, {well_known::kAssumedUpdates,
                                         well_known::kAssumedUpdatesPerEpoch}));
  runtime::RunLength now = take(runtime::runLengthOf(session));
  bool assumes = now.updates != before.updates ||
                 now.updatesPerEpoch != before.updatesPerEpoch;
  if (assumes)
    note(absl::StrCat("the schedule is in parts of a run: as in one of ",
                      well_known::kAssumedUpdates, " updates, ",
                      well_known::kAssumedUpdatesPerEpoch, " an epoch"));
  return assumes;
}

std::vector<double> pieceLengths(const json &schedule, const json &pieces) {
  NumberMath math;
  NumbersOfRun run(schedule);
  std::vector<PieceTiming> timings;
  for (const json &piece : pieces)
    timings.push_back(timingOf(piece));
  std::vector<double> lengths;
  for (std::optional<double> length :
       NumberRule{math, run, 0}.lengthsOf(timings))
    lengths.push_back(length.value_or(0));
  return lengths;
}

double unitOf(const json &schedule, const json &piece) {
  NumberMath math;
  NumbersOfRun run(schedule);
  return NumberRule{math, run, 0}.unitOf(timingOf(piece));
}

std::string resolvedSchedules(const json &recipe) {
  json schedule = recipe.value("schedule", json::object());
  auto perUpdate = static_cast<double>(stepsPerUpdate(recipe));
  std::string text;
  for (const auto &[name, pieces] : schedule.items()) {
    if (!pieces.is_array() ||
        !std::any_of(pieces.begin(), pieces.end(), isOfRun))
      continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", name, ": ");
    std::vector<double> lengths = pieceLengths(schedule, pieces);
    double end = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      end += lengths[i] * perUpdate;
      absl::StrAppend(&text, i ? ", " : "",
                      pieces[i]["type"].get<std::string>());
      if (lengths[i] != 0)
        absl::StrAppend(&text, " to step ", number("%.0f", end));
    }
  }
  return text;
}

} // namespace gradus::cli

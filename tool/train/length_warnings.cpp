// Schedules and averages count updates of `accumulation` steps each; the texts
// count steps, as the run does.

#include "tool/train/length_warnings.h"

#include "tool/session/run_length.h"
#include "tool/session/session_options.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace gradus::cli {
namespace {

/// A schedule that is longer than the run by the first factor was made for
/// another run; one that is shorter by less than the second is a rounded
/// number.
constexpr double kLongAfter = 1.1, kBefore = 1.02;

/// The maximum share of the first weights in averages at a run's end.
constexpr double kMostOfFirst = 0.1;

bool isType(const json &piece, const char *type) {
  auto found = piece.find("type");
  return found != piece.end() && *found == type;
}

/// Whether the final factor of a piece is one to stay at: the end of a rise, or
/// a constant.
bool settles(const json &piece) {
  return isType(piece, "constant") || isType(piece, "linear_warmup") ||
         (isType(piece, "linear") &&
          numberOf(piece, "final", 0) >= numberOf(piece, "initial", 1));
}

/// The number of milestones of a piece that change something: the one after the
/// last value of `piecewise` changes nothing.
size_t changesOf(const json &piece) {
  if (!piece.contains("milestones"))
    return 0;
  size_t milestones = piece["milestones"].size();
  if (isType(piece, "multi_step"))
    return milestones;
  if (!isType(piece, "piecewise"))
    return 0;
  size_t values = piece.contains("values") ? piece["values"].size() : 0;
  return std::min(milestones, std::max<size_t>(values, 1) - 1);
}

/// The last change of a piece that never ends, in its units; 0 if there is
/// none.
double lastChangeOf(const json &piece) {
  double last = 0;
  for (size_t i = 0; i < changesOf(piece); ++i)
    last = std::max(last, piece["milestones"][i].get<double>());
  return last;
}

/// ", 0.1," for a piece that says its final factor; empty for others.
std::string finalOf(const json &piece) {
  auto final = piece.find("final");
  bool ends = final != piece.end() && final->is_number() &&
              numberOf(piece, "period", 0) == 0;
  return ends ? absl::StrCat(", ", number("%g", final->get<double>()), ",")
              : "";
}

/// The pieces of a schedule, the last of which ends where its list does.
json endedPieces(const json &schedule, const std::string &name) {
  json pieces = schedule[name];
  if (json &last = pieces.back(); isType(last, "list") &&
                                  last.contains("values") &&
                                  pieceLengths(schedule, pieces).back() == 0)
    last["steps"] = last["values"].size();
  return pieces;
}

std::string warningOf(const std::string &name, const json &schedule,
                      int64_t perUpdate, int64_t steps) {
  const json pieces = endedPieces(schedule, name);
  double end = 0, length = 0;
  for (double updates : pieceLengths(schedule, pieces))
    end += length = updates * static_cast<double>(perUpdate);
  bool isOpen = length == 0; // the last piece
  auto run = static_cast<double>(steps);
  double change = end + lastChangeOf(pieces.back()) *
                            unitOf(schedule, pieces.back()) *
                            static_cast<double>(perUpdate);
  if (isOpen && change > end && end < run && change >= run)
    return absl::StrCat("the last milestone of the schedule of ", name,
                        " is at step ", number("%.0f", change),
                        ", this run has ", steps,
                        " steps: it is never reached");
  std::string words = absl::StrCat(
      "the schedule of ", name,
      isOpen ? " comes to its last piece at step " : " ends at step ",
      number("%.0f", end), ", this run has ", steps, " steps: ");
  if (!isOpen && end * kBefore < run && !settles(pieces.back()))
    return absl::StrCat(words, "from there on its last factor",
                        finalOf(pieces.back()), " holds");
  if (isOpen ? end >= run : end > run * kLongAfter)
    return words + "what comes later is never reached";
  return "";
}

/// A factor below this is no training any more.
constexpr double kNothing = 1e-6;

/// Warns of pieces that count updates where epochs seem to be meant: all that
/// they change is over within the first of several epochs.
std::string unitWarning(const std::string &name, const json &pieces,
                        double perEpoch, double updates) {
  constexpr const char *kAdvice =
      R"(; "interval": "epoch" makes it count epochs)";
  if (perEpoch < 1 || updates < 2 * perEpoch || pieces.size() != 1 ||
      unitOf(json(), pieces[0]) != 1)
    return "";
  const json &piece = pieces[0];
  if (double last = lastChangeOf(piece); last > 0 && last < perEpoch)
    return absl::StrCat("the milestones of the schedule of ", name,
                        " are updates, the last one ", number("%.0f", last),
                        ", and the first of ",
                        number("%.0f", updates / perEpoch), " epochs has ",
                        number("%.0f", perEpoch), kAdvice);
  double rate = numberOf(piece, "rate", 1),
         period = numberOf(piece, "period", 1);
  bool falls = isType(piece, "step") || isType(piece, "exponential");
  double factor = falls ? std::pow(rate, perEpoch / period) : 1;
  return factor >= kNothing
             ? ""
             : absl::StrCat("the schedule of ", name, " falls to ",
                            number("%.1g", factor),
                            " within the first epoch: its period is ",
                            number("%g", period), " updates", kAdvice);
}

/// Warns if averages still consist of the first weights. They begin with the
/// first update.
std::string averagesWarning(const json &ema, int64_t updates) {
  if (updates < 1)
    return "";
  double decay = numberOf(ema, "decay", 0);
  double first = std::pow(decay, static_cast<double>(updates - 1));
  bool warmsUp = ema.contains("warmup") && ema["warmup"] == true;
  if (first <= kMostOfFirst || warmsUp)
    return "";
  return absl::StrCat(
      "the averages of the weights (ema, decay ", number("%g", decay), ") are ",
      number("%.0f", 100 * first), " % those of the first update after the ",
      updates, R"( of this run; "ema": {"warmup": true}, or a smaller )",
      "decay, lets them follow sooner");
}

} // namespace

std::vector<std::string> lengthWarnings(const json &recipe, int64_t steps,
                                        int64_t perEpoch) {
  int64_t perUpdate = stepsPerUpdate(recipe);
  std::vector<std::string> warnings;
  auto add = [&](std::string words) {
    if (!words.empty())
      warnings.push_back(std::move(words));
  };
  if (auto all = recipe.find("schedule");
      all != recipe.end() && all->is_object())
    for (const auto &[name, pieces] : all->items())
      if (pieces.is_array() && !pieces.empty()) {
        auto run = runLengthOf(recipe, steps, perEpoch);
        add(unitWarning(name, pieces, run.updatesPerEpoch, run.updates));
        add(warningOf(name, *all, perUpdate, steps));
      }
  if (auto ema = recipe.find("ema"); ema != recipe.end() && ema->is_object())
    add(averagesWarning(*ema, steps / perUpdate));
  return warnings;
}

} // namespace gradus::cli

// Lengths of pieces as arithmetic of the run's length; see piece_lengths.h.

#include "passes/optimizers/piece_lengths.h"

#include "passes/numbers.h"
#include "passes/optimizers/keys.h"
#include "passes/optimizers/schedule_pieces.h"

#include <cmath>

using namespace mlir;
using namespace gradus;
using recipe::Field;
using enum recipe::Kind;

const recipe::Keys<PieceTiming> &gradus::timingKeys() {
  static const recipe::Keys<PieceTiming> keys = {
      Field{"steps", integer, "null",
            "how long this piece lasts, in updates or in what `interval` and "
            "`every` count; null with no other length, for the last: on and on"}
          .from(1)
          .into(&PieceTiming::steps),
      Field{"epochs", number, "null", "how long it lasts instead, in epochs"}
          .from(1e-6)
          .into(&PieceTiming::epochs),
      Field{"fraction", number, "null",
            "how long it lasts instead, as a part of the run"}
          .from(1e-6)
          .into(&PieceTiming::fraction),
      flag("rest", "it lasts for what the other pieces leave of the run")
          .into(&PieceTiming::isRest),
      Field{"every", integer, "1", "intervals that count as one"}.from(1).into(
          &PieceTiming::every),
      Field{"interval", choice, "\"step\"",
            "what the piece counts: updates, whole epochs, or epochs and "
            "their parts"}
          .among({{"step"}, {"epoch"}, {"smooth_epoch"}})
          .into(&PieceTiming::interval),
      flag("at_end", "an update counts where it ends: k is 1 at the first")
          .into(&PieceTiming::countsFromEnd),
      flag("single_precision", "round its numbers to f32")
          .under({"singa"}, "true")
          .into(&PieceTiming::isSingle)};
  return keys;
}

//===-- mistakes ----------------------------------------------------------===//

namespace {

/// The keys that say a length, of those that a piece has.
SmallVector<std::string> lengthKeysOf(const PieceTiming &timing) {
  SmallVector<std::string> keys;
  if (timing.steps)
    keys.push_back("steps");
  if (timing.epochs)
    keys.push_back("epochs");
  if (timing.fraction)
    keys.push_back("fraction");
  if (timing.isRest)
    keys.push_back("rest");
  return keys;
}

/// A piece has one length at most, and one where it needs it.
FoundMistake mistakeOfLength(const recipe::Value &piece, bool mayGoOn,
                             const char *why = "") {
  SmallVector<std::string> keys = lengthKeysOf(piece.as<PieceTiming>());
  std::string lengths = "expected steps, epochs, fraction or rest";
  if (keys.size() > 1)
    return PieceMistake{piece.where(), "has " + keys[0] + " and " + keys[1] +
                                           ", of which only one can say how "
                                           "long it is"};
  bool needs = needsLength(piece);
  if (!keys.empty() || (mayGoOn && !needs))
    return std::nullopt;
  return PieceMistake{piece.where(), "does not say how long it is, " + lengths +
                                         (needs ? "" : why)};
}

} // namespace

FoundMistake gradus::lengthMistake(ArrayRef<recipe::Value> pieces) {
  double fractions = 0;
  bool hasRest = false;
  for (const recipe::Value &piece : pieces) {
    auto timing = piece.as<PieceTiming>();
    bool isLast = &piece == &pieces.back();
    const char *why = hasRest ? ": the rest before it ends with the run"
                              : ": only the last piece may go on";
    if (auto found = mistakeOfLength(piece, isLast && !hasRest, why))
      return found;
    if (timing.isRest && hasRest)
      return PieceMistake{piece.where() + ".rest",
                          "is true of two pieces, and what is left of the run "
                          "can be given to one"};
    hasRest |= timing.isRest;
    fractions += timing.fraction.value_or(0);
    if (fractions > 1 + 1e-9)
      return PieceMistake{piece.where() + ".fraction",
                          "makes the fractions of the run more than 1 "
                          "together"};
  }
  return std::nullopt;
}

FoundMistake gradus::factorLengthMistake(const recipe::Value &factor,
                                         bool productCountsUpdates) {
  auto timing = factor.as<PieceTiming>();
  if (timing.isRest)
    return PieceMistake{factor.where() + ".rest",
                        "is for pieces that follow one another, and factors "
                        "run side by side"};
  if (timing.fraction && *timing.fraction > 1)
    return PieceMistake{factor.where() + ".fraction",
                        "is more than 1, the whole run"};
  if (timing.isOfRun() && !productCountsUpdates)
    return PieceMistake{factor.where(),
                        "counts epochs or a part of the run, expected steps: "
                        "its product has every or interval"};
  return mistakeOfLength(factor, /*mayGoOn=*/true);
}

//===-- values ------------------------------------------------------------===//

Value PieceLength::since(const Arithmetic &math, Value update) const {
  Value since = math.subtract(update, first);
  if (isAtEnd)
    since = math.add(since, math.number(1, since));
  std::optional<double> known = knownNumber(unit);
  if (known != 1) {
    since = math.divide(since, unit);
    // Rounding must not make an epoch begin an update late.
    bool isWhole = known && *known == std::floor(*known);
    if (!isSmooth && !isWhole)
      since = math.add(since, math.number(1e-9, since));
    if (!isSmooth)
      since = math.floor(since);
  }
  return steps ? math.smaller(since, steps) : since;
}

SmallVector<PieceLength> gradus::pieceLengths(const Arithmetic &math,
                                              const RunLength &run,
                                              ArrayRef<recipe::Value> pieces,
                                              Value like) {
  PieceRule<Arithmetic, RunLength, Value> rule{math, run, like};
  std::vector<PieceTiming> timings;
  for (const recipe::Value &piece : pieces)
    timings.push_back(piece.as<PieceTiming>());
  auto lengths = rule.lengthsOf(timings);
  SmallVector<PieceLength> result;
  for (auto [i, timing] : llvm::enumerate(timings)) {
    PieceLength length{rule.sum(lengths, i),
                       rule.unitOf(timing),
                       {},
                       timing.interval == Interval::smoothEpoch,
                       timing.countsFromEnd};
    if (timing.steps)
      length.steps = math.number(*timing.steps, like);
    else if (lengths[i])
      length.steps = math.divide(*lengths[i], length.unit);
    result.push_back(length);
  }
  return result;
}

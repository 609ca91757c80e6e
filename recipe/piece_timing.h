// Computes how long a piece of a schedule is, by its keys and the length of the
// run: for the graph of a step, and for a tool that speaks of that step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gradus {

/// A piece counts updates, whole epochs, or epochs with their parts.
enum class Interval { step, epoch, smoothEpoch };

/// The keys of every piece: its length, its clock and its precision.
struct PieceTiming {
  std::optional<int64_t> steps;           // in its units
  std::optional<double> epochs, fraction; // of the run
  bool isRest = false;                    // what the others leave of the run
  int64_t every = 1;                      // intervals that count as one
  Interval interval = {};
  bool countsFromEnd = false; // of an update: the first is 1
  bool isSingle = false;      // its numbers are rounded to f32

  bool countsUpdates() const {
    return every == 1 && interval == Interval::step;
  }
  /// Whether its length or its clock follows from the run's length.
  bool isOfRun() const {
    return epochs || fraction || isRest || interval != Interval::step;
  }
};

/// The rule by which pieces get their lengths in updates. `Math` computes with
/// `Amount`: Arithmetic with values of a graph. `Run` has the length of the run
/// as amounts, `updates()` and `updatesPerEpoch()`, and is asked for what the
/// pieces need alone. `like` is an amount of the same kind.
template <typename Math, typename Run, typename Amount> struct PieceRule {
  const Math &math;
  const Run &run;
  Amount like;

  /// Updates that count as one.
  Amount unitOf(const PieceTiming &timing) const {
    auto every = static_cast<double>(timing.every);
    return timing.interval == Interval::step
               ? math.number(every, like)
               : math.scale(every, run.updatesPerEpoch());
  }

  /// Lengths of pieces that follow one another; none for one that goes on.
  std::vector<std::optional<Amount>>
  lengthsOf(const std::vector<PieceTiming> &pieces) const {
    std::vector<std::optional<Amount>> lengths;
    for (const PieceTiming &piece : pieces)
      lengths.push_back(ownLengthOf(piece));
    for (size_t i = 0; i < pieces.size(); ++i)
      if (pieces[i].isRest)
        lengths[i] = larger(math.subtract(run.updates(), sum(lengths)));
    return lengths;
  }

  /// The sum of the first lengths, or of all.
  Amount sum(const std::vector<std::optional<Amount>> &lengths,
             size_t count = SIZE_MAX) const {
    Amount all = math.number(0, like);
    for (size_t i = 0; i < lengths.size() && i < count; ++i)
      if (lengths[i])
        all = math.add(all, *lengths[i]);
    return all;
  }

private:
  /// None for a piece that goes on, and for the rest.
  std::optional<Amount> ownLengthOf(const PieceTiming &timing) const {
    if (timing.epochs)
      return wholePart(*timing.epochs, run.updatesPerEpoch());
    if (timing.fraction)
      return wholePart(*timing.fraction, run.updates());
    if (!timing.steps)
      return std::nullopt;
    auto steps = static_cast<double>(*timing.steps);
    return timing.interval == Interval::step ? math.scale(steps, unitOf(timing))
                                             : wholePart(steps, unitOf(timing));
  }

  /// `part` times `whole`, in whole updates to the nearest, at least one.
  Amount wholePart(double part, Amount whole) const {
    return larger(
        math.floor(math.add(math.scale(part, whole), math.number(0.5, whole))));
  }

  /// Returns one update where there are fewer.
  Amount larger(Amount updates) const {
    return math.larger(updates, math.number(1, updates));
  }
};

} // namespace gradus

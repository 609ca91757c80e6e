// Refreshes: updates in which a method measures curvature and inverts it, while
// the others use what the last one made.
//
// A method puts `gradus.factors` into @train and calls addRefreshes, which
// moves them into variants of the step. A pass behind it that finds factors in
// a graph inverts them and writes the inverses to states; where it finds none,
// it reads these.
#pragma once

#include "ir/gradus.h"
#include "recipe/settings.h"

namespace gradus {

/// The updates for which factors are measured and inverted, counted from 0.
struct RefreshSettings {
  int64_t every = 0;                           // where `at` is empty
  std::optional<int64_t> measureEvery = {};    // nothing: where it is inverted
  std::optional<std::vector<int64_t>> at = {}; // ascending, from 0 on
  int64_t spread = 1;   // updates that share the work of a refresh
  bool isDealt = false; // ranks share the work of inverting

  /// Whether each update refreshes, so that there is one form of the step.
  bool isInEach() const { return !at && every == 1 && spread == 1; }
};

/// Settings are filled where their keys are bound: the struct has another
/// identity (recipe::settingsId) in each shared library that reads one.
template <> void recipe::Value::to(RefreshSettings &settings) const;

/// The key `refresh`, an object of which a RefreshSettings is filled.
recipe::Field refreshKey();

/// Marks graphs whose inverses ranks share out among them: the pass
/// `deal-inverses` does it.
constexpr llvm::StringLiteral kDealt = "gradus.dealt";

/// Fails if settings contradict each other, or if processes compute several
/// ranks in turns, for which factors are not built. `owner` is the path of the
/// object that has the key; `averages` says whether factors are a mean over
/// time, for which alone one may measure and not invert.
mlir::LogicalResult checkRefreshes(ProgramOp program, llvm::StringRef owner,
                                   const RefreshSettings &settings,
                                   bool averages);

/// Marks @train if ranks share its inverses. Moves its factors into
/// @train_refresh, and schedules it for the updates that refresh; the first one
/// does. With `measureEvery` there is @train_measure, too, whose factors are
/// `measured_only`, with `spread` @train_refresh_1 and so on. Factors stay in
/// @train where each update refreshes. Fails if the model has a state or a
/// graph of a name.
mlir::LogicalResult addRefreshes(GraphOp train, RefreshSettings settings);

/// Uses factors for an update of their weight. Where its graph has not measured
/// them they are another graph's, of which the form alone holds.
using UseFactors = llvm::function_ref<mlir::LogicalResult(
    ParameterUpdate update, FactorsOp factors, bool areMeasured)>;

/// Calls `use` for each update, in all training graphs, of a weight that has
/// factors in some; then removes all factors. Fails if a call does.
mlir::LogicalResult useFactors(ProgramOp program, UseFactors use);

} // namespace gradus

// The variants of @train, and which of them runs in a step.
//
// A method that trains in several ways derives graphs from @train and says for
// which updates each is. Here is what they share: the copies, the state
// `step/variant`, in which each step writes the variant of the next, and the
// schedule by which the executor picks the graph.
//
// With C choices of methods the state counts them: 0 is @train. If several
// batches make an update, each choice has a second graph, which only adds
// gradients up; the state counts those first, and then, from C on, the ones
// that update, for the last batch of an update.
#pragma once

#include "passes/train_graphs.h"

namespace gradus {

constexpr llvm::StringLiteral kVariantState = "step/variant";

/// Adds a copy of a training graph behind it, which does `what` with gradients
/// (kUpdates or kAccumulates).
GraphOp cloneVariant(GraphOp train, const llvm::Twine &name,
                     llvm::StringRef what);

/// The suffix of what a training graph remembers of its own: `_cut1` of a cut
/// whose slots are kept apart, else empty.
inline std::string slotSuffixOf(GraphOp train) {
  auto cut = train->getAttrOfType<mlir::StringAttr>(kCut);
  return cut ? cut.str() : "";
}

/// Computes from the number of an update, a scalar of i64 that is 0 at the
/// first, which of a method's graphs makes it: i > 0 for its i-th, 0 for what
/// would run without the method.
using Choice = llvm::function_ref<mlir::Value(mlir::OpBuilder &builder,
                                              mlir::Value update)>;

/// Schedules `graphs`, which a method has derived from @train, beside what is
/// there: they make the updates for which `choose` names them, unless a method
/// before this one has chosen. `first` is its choice for the first update.
/// Fails if the model has a state or a graph of a name.
mlir::LogicalResult addChoices(ProgramOp program,
                               llvm::ArrayRef<std::string> graphs,
                               int64_t first, Choice choose);

/// Schedules the graphs that add up, which accumulation has derived last of all
/// from each choice: they run for all batches of an update but the last.
/// `accumulating` gives a graph's name from that of the graph that updates.
/// Fails if the model has a graph of a name.
mlir::LogicalResult addAccumulation(
    ProgramOp program,
    llvm::function_ref<std::string(llvm::StringRef train)> accumulating);

/// Schedules @train and `others` by turns, one update each, from @train at the
/// first on: update n is that of n mod their number, whatever ran before. For
/// methods that exclude all other variants. Fails if the model has a state or a
/// graph of a name.
mlir::LogicalResult addTurns(ProgramOp program,
                             llvm::ArrayRef<std::string> others);

/// An empty schedule of @train by a state, at the end of the program.
ScheduleOp addSchedule(ProgramOp program, llvm::StringRef counter);

/// Runs a graph where the counter mod `every` is `at`; the last such line of a
/// schedule holds.
void addCase(ScheduleOp schedule, llvm::StringRef graph, int64_t every,
             int64_t at);

} // namespace gradus

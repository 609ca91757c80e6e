// Finds the command of a step that first wrote a NaN or an infinity.
//
// Runs command by command and looks at every float that each one wrote: for
// debugging, not for training.

#pragma once

#include "runtime/session/host_view.h"
#include "runtime/tensor_type.h"

#include <array>
#include <string>
#include <vector>

namespace gradus::runtime {

class NonfiniteSearch {
public:
  /// All arguments must outlive the search.
  NonfiniteSearch(const Artifact &artifact, const artifact::Plan &plan,
                  DevicePlan &device, HostStates &states)
      : artifact_(artifact), plan_(plan), device_(device), states_(states),
        view_(device) {}

  /// Runs a graph once. The step always runs to its end. A later turn of a step
  /// goes on with what those before it have found.
  Status run(const artifact::GraphPlan &graph, bool isLaterTurn = false);
  /// The first NaN of that step in words, and the first infinity if one came
  /// before it; empty if all was finite.
  std::string found() const;
  /// The name of the first state that was not finite after its last run but
  /// was before it; empty if there is none.
  std::string spoiledState() const { return spoiled_; }

private:
  /// Whether there is a NaN, and whether there is an infinity.
  using Kinds = std::array<bool, 2>;
  /// The names of tensors that have a NaN, and of those that have an infinity.
  using Names = std::array<std::vector<std::string>, 2>;

  Status lookBefore(const artifact::GraphPlan &graph);
  Status lookBehind(const artifact::GraphPlan &graph, size_t command);
  Status lookAfter();
  StatusOr<Names> inputsWith(const artifact::GraphPlan &graph);
  StatusOr<Names> statesWith();
  StatusOr<Kinds> kindsIn(uint32_t buffer);
  std::string commandWords(const artifact::GraphPlan &graph,
                           size_t command) const;
  void note(const std::string &where, bool infinity);

  const Artifact &artifact_;
  const artifact::Plan &plan_;
  DevicePlan &device_;
  HostStates &states_;
  HostView view_;
  std::string nan_, infinity_, spoiled_;
  Names before_; // of states
};

/// Whether `bytes` of elements hold a NaN or, if `infinity`, an infinity; never
/// for integers.
bool holdsNonfinite(DType dtype, const uint8_t *data, size_t bytes,
                    bool infinity);

} // namespace gradus::runtime

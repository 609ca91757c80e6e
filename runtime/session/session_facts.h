// Makes plain values of what an artifact says of its graphs and states.
#pragma once

#include "runtime/session/session.h"
#include "runtime/well_known.h"

namespace gradus::runtime {

GraphInfo infoOf(const artifact::Graph &graph, const artifact::GraphPlan &plan);

/// The states in the header's order.
std::vector<StateInfo> stateInfosOf(const artifact::Header &header);

/// The plans of the graphs in the header's order; plans list them in their own.
std::vector<const artifact::GraphPlan *>
graphPlansOf(const artifact::Header &header, const artifact::Plan &plan);

/// The memory that a plan states; `atLoad` is not known here.
MemoryInfo memoryOf(const Artifact &artifact, const artifact::Plan &plan,
                    std::span<const GraphInfo> graphs);

/// Whether a state is made of others, so that checkpoints do not hold it.
inline bool isCopy(const StateInfo &state) {
  return state.role == artifact::Role::copy;
}

/// Whether a session sets a state when it is loaded, as by the rank or the
/// number of ranks.
inline bool isPlace(const StateInfo &state) {
  return state.role == artifact::Role::place;
}

/// Whether a state has its initial value for good.
inline bool isFixed(const StateInfo &state) {
  return state.role == artifact::Role::fixed;
}

/// Whether checkpoints have a state.
inline bool isSaved(const StateInfo &state) {
  return !isCopy(state) && !isPlace(state) && !isFixed(state) &&
         state.role != artifact::Role::scratch;
}

/// The type that a state has in checkpoints.
inline const TensorType &typeInFile(const StateInfo &state) {
  return state.whole ? *state.whole : state.type;
}

/// Whether a checkpoint always has what each rank has of a state; of others that
/// differ between ranks it depends on the run (training/rank_states.h).
inline bool isLasting(const StateInfo &state) {
  return state.isPerRank && state.name.starts_with(well_known::kLasting);
}

/// The index of what has a name; -1 if nothing has it.
template <typename Infos>
int findName(const Infos &infos, const std::string &name) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name)
      return static_cast<int>(i);
  return -1;
}

} // namespace gradus::runtime

// Chooses the engine of cuDNN that computes a graph, and its knobs.
//
// Engines are excluded if they are not deterministic, if they sum in fewer bits
// than f32, or if they round f32 operands (to TF32 and the like); for f32 also
// those by Fourier transform or large Winograd tiles, in which sums of large
// numbers cancel.
#pragma once

#include "runtime/cuda/libraries/cudnn_graph.h"

namespace gradus::runtime::cuda::cudnn {

struct ExecutionPlan {
  Descriptor config, plan;
  uint64_t workspace = 0;
  std::string algorithm; // "eng45_k2=3_k5=4": engine, knobs and their values
  size_t choice = 0;     // rank in the heuristics, from 1; 0: by name
  bool hasTensorCores = false; // according to the engine's notes
};

/// Chooses the first plan of the heuristics that needs at most `workspace`,
/// else the one that needs the least; plans that state more are built last.
StatusOr<ExecutionPlan> choosePlan(const Session &session,
                                   const OperationGraph &graph,
                                   uint64_t workspace);

/// Builds the plan of a given engine and knobs.
StatusOr<ExecutionPlan> planOf(const Session &session,
                               const OperationGraph &graph,
                               const std::string &algorithm);

/// Lists all that can be built with at most `workspace`, the best first.
StatusOr<std::vector<std::string>> algorithmsOf(const Session &session,
                                                const OperationGraph &graph,
                                                uint64_t workspace);

} // namespace gradus::runtime::cuda::cudnn

// Which engine of cuDNN computes a graph, and how it is tuned.
//
// Engines that may give other bits at the next run, that sum in fewer bits than
// f32, or that round f32 operands (to TF32 and the like) are passed over; so
// are those for f32 that go by Fourier transforms or large tiles of Winograd's,
// where sums of large numbers cancel.
#pragma once

#include "runtime/cuda/cudnn_graph.h"

namespace gradus::runtime::cuda::cudnn {

struct ExecutionPlan {
  Descriptor config, plan;
  uint64_t workspace = 0;
  std::string algorithm; // "eng45_k2=3_k5=4": engine, knobs and their values
  size_t choice = 0; // of heuristics, from 1 on; 0: it was asked for by name
  bool hasTensorCores = false; // by its engine's notes
};

/// The first of the heuristics' that needs no more workspace than that, else
/// the one that needs the least; what states more than that is not built
/// before.
StatusOr<ExecutionPlan> choosePlan(const Session &session,
                                   const OperationGraph &graph,
                                   uint64_t workspace);

/// By this engine with these knobs.
StatusOr<ExecutionPlan> planOf(const Session &session,
                               const OperationGraph &graph,
                               const std::string &algorithm);

/// All that can be built with no more workspace than that, the best first.
StatusOr<std::vector<std::string>> algorithmsOf(const Session &session,
                                                const OperationGraph &graph,
                                                uint64_t workspace);

} // namespace gradus::runtime::cuda::cudnn

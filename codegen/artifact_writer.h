// Writes a planned program as an artifact (runtime/artifact.fbs).
#pragma once

#include "codegen/index_limits.h"
#include "codegen/target_plan.h"
#include "codegen/tuning.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

/// Everything an artifact is made of. Each plan has the graphs of `program`, in
/// its order.
struct ArtifactParts {
  ProgramOp program;
  StatePlaces states;
  ConstantPlaces constants; // of all plans
  std::vector<TargetPlan> plans;
  std::string recipe; // JSON
  uint64_t seed = 0;  // of initial values made by rule
  uint32_t threads = 1;
  int64_t classes = 0;
  IndexLimits indexLimits;
  bool deterministic = false;
  Tuning tuning; // of plans for GPUs
};

/// The bytes of the file. Same parts, same bytes. Fails where a state's value
/// cannot be stored or a command is unknown.
llvm::Expected<std::vector<char>> writeArtifact(const ArtifactParts &parts);

} // namespace gradus

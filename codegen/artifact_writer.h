// Writes a planned program as an artifact (runtime/artifact.fbs).
#pragma once

#include "codegen/artifact_sink.h"
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

/// Writes the file. Same parts, same bytes. Fails where the sink does, a
/// state's value cannot be stored or a command is unknown. The values of states
/// are gone afterwards.
llvm::Error writeArtifact(const ArtifactParts &parts, const ArtifactSink &sink);
/// The same in memory.
llvm::Expected<std::vector<char>> writeArtifact(const ArtifactParts &parts);

} // namespace gradus

// Writes a planned program as an artifact (runtime/artifact.fbs).
#pragma once

#include "codegen/artifact/artifact_sink.h"
#include "codegen/artifact/index_limits.h"
#include "codegen/artifact/tuning.h"
#include "codegen/targets/target_plan.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

/// The contents of an artifact. Each plan has the graphs of `program`, in its
/// order.
struct ArtifactParts {
  ProgramOp program;
  StatePlaces states;
  ConstantPlaces constants; // of all plans
  std::vector<TargetPlan> plans;
  std::string recipe; // JSON
  uint64_t seed = 0;  // of initial values computed by rules
  uint32_t threads = 1;
  int64_t classes = 0;
  IndexLimits indexLimits;
  bool deterministic = false;
  Tuning tuning;             // of plans for GPUs
  std::vector<char> carried; // program_section.h; empty: none
};

/// Writes the file. The same parts give the same bytes. Fails if the sink does,
/// if the value of a state cannot be stored, or if a command is unknown. It
/// erases the values of states from the program.
llvm::Error writeArtifact(const ArtifactParts &parts, const ArtifactSink &sink);
/// Writes the file into memory.
llvm::Expected<std::vector<char>> writeArtifact(const ArtifactParts &parts);

} // namespace gradus

// Writes a planned program as an artifact (runtime/artifact.fbs).
#pragma once

#include "codegen/cpu_emitter.h"
#include "codegen/index_limits.h"
#include "codegen/memory_plan.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

/// Machine code and the target it is for; kernels in the order of
/// `ArtifactParts::kernels`.
struct TargetCode {
  CpuTarget target;
  CpuCode code;
};

/// Everything an artifact is made of. `graphs` and `memory` go together.
struct ArtifactParts {
  ProgramOp program;
  std::vector<GraphOp> graphs;
  std::vector<GraphMemory> memory;
  StatePlaces states;
  ConstantPlaces constants;
  std::vector<plan::KernelOp> kernels;
  std::vector<TargetCode> targets;
  std::string recipe; // JSON
  uint64_t seed = 0;  // of initial values made by rule
  uint32_t threads = 1;
  int64_t classes = 0;
  IndexLimits indexLimits;
  bool deterministic = false;
};

/// The bytes of the file. Same parts, same bytes. Fails where a state's value
/// cannot be stored or a command is unknown.
llvm::Expected<std::vector<char>> writeArtifact(const ArtifactParts &parts);

} // namespace gradus

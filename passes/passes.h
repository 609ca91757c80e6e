// The passes that turn a model into a training step, and their pipeline.
#pragma once

#include "ir/gradus.h"

#include "mlir/Pass/Pass.h"

#include <functional>
#include <string>
#include <vector>

namespace gradus {

#define GEN_PASS_DECL
#include "passes/passes.h.inc"

struct TrainingOptions {
  /// The last stage to run, one of `trainingStages()`; all of them if empty.
  std::string stopAfter;
};

/// The stages of the pipeline in their order: "model", "gradients", ...
llvm::ArrayRef<llvm::StringRef> trainingStages();

/// The names of the passes in the pipeline.
std::vector<std::string> pipelinePasses();

/// Two keys of the recipe that cannot both be asked for, and why.
struct Exclusion {
  llvm::StringRef method, other, reason;
};
llvm::ArrayRef<Exclusion> exclusions();

/// Called when the passes of a stage stand at the end of `program`.
using StageAdded =
    std::function<void(llvm::StringRef stage, mlir::OpPassManager &program)>;

/// Fills `manager`, which runs on modules, with the stages of a training step
/// up to `options.stopAfter`. passes/pipeline.cpp says what each is for.
/// `added` may be empty.
void buildTrainingPipeline(mlir::OpPassManager &manager,
                           const TrainingOptions &options = {},
                           const StageAdded &added = {});

/// Registers every pass and the pipeline `training` for gradus-opt.
void registerPasses();

} // namespace gradus

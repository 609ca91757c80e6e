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
  /// The stage that has run already, with those before it; none if empty.
  std::string startAfter;
};

/// The stage after which an artifact takes the program along: what changes the
/// model has run, and what derives more from it has not.
inline constexpr llvm::StringLiteral kModelStage = "model";

/// The stages of the pipeline in order: "model", "gradients", ...
llvm::ArrayRef<llvm::StringRef> trainingStages();

/// Says that there is no such stage, and which there are: `unknown stage "a";
/// ...`.
std::string unknownStage(llvm::StringRef name,
                         llvm::ArrayRef<llvm::StringRef> stages);

/// Registers a pipeline of stages for gradus-opt, which `build` adds up to the
/// last one, all if that is empty. Its option `stop-after` is a stage.
void registerStages(
    llvm::StringRef name, llvm::StringRef summary,
    llvm::ArrayRef<llvm::StringRef> stages,
    std::function<void(mlir::OpPassManager &manager, llvm::StringRef last)>
        build);

/// The names of the passes in the pipeline.
std::vector<std::string> pipelinePasses();

/// Two keys of the recipe that exclude each other, and the reason.
struct Exclusion {
  llvm::StringRef method, other, reason;
};
llvm::ArrayRef<Exclusion> exclusions();

/// Called after the passes of a stage were added to `program`.
using StageAdded =
    std::function<void(llvm::StringRef stage, mlir::OpPassManager &program)>;

/// Adds the stages of a training step after `options.startAfter` up to
/// `options.stopAfter` to `manager`, which runs on modules. passes/pipeline.cpp
/// gives the reason for each pass. `added` may be empty.
void buildTrainingPipeline(mlir::OpPassManager &manager,
                           const TrainingOptions &options = {},
                           const StageAdded &added = {});

/// Registers every pass and the pipeline `training` for gradus-opt.
void registerPasses();

} // namespace gradus

// The pipeline of a training step for those who follow its passes as they run.
#pragma once

#include "passes/passes.h"

#include "mlir/Pass/PassManager.h"

#include <functional>

namespace gradus {

/// Called when the passes of a stage stand at the end of `program`.
using StageAdded =
    std::function<void(llvm::StringRef stage, mlir::OpPassManager &program)>;

/// As in passes.h; `added` may be empty.
void buildTrainingPipeline(mlir::OpPassManager &manager,
                           const TrainingOptions &options,
                           const StageAdded &added);

} // namespace gradus

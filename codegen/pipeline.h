// The stages of codegen that transform the graph for a device.
#pragma once

#include "codegen/targets/target.h"
#include "passes/passes.h"

#include "mlir/Pass/PassManager.h"

namespace gradus {

/// "select", "nests", "fuse", "kernels", "schedule".
llvm::ArrayRef<llvm::StringRef> codegenStages();

/// Adds the stages up to and including `lastStage` (all if empty) to a manager
/// that runs on modules. `added` may be empty.
void buildCodegenPipeline(mlir::OpPassManager &manager,
                          llvm::StringRef lastStage = "",
                          const DeviceModel &model = {},
                          const StageAdded &added = {});

/// Registers the pipeline `codegen` for gradus-opt.
void registerCodegenPipeline();

/// Registers every dialect, pass and pipeline, once, for gradus-opt and for
/// callers that name passes. Exported by libgradus_compiler.so.
__attribute__((visibility("default"))) void
registerCompiler(mlir::DialectRegistry &registry);

} // namespace gradus

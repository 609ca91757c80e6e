// The order of passes that turn a graph into commands. Read this after
// passes/pipeline.cpp; memory, machine code and the file follow in compile.cpp.

#include "codegen/pipeline.h"

#include "codegen/plan/passes.h"
#include "codegen/plan/plan.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace gradus;

namespace {

struct Stage {
  llvm::StringRef name;
  void (*addPasses)(OpPassManager &program, const DeviceModel &model);
};

/// Each pass runs on programs; the reason for a pass stands above its line.
const Stage stages[] = {
    {"select",
     [](OpPassManager &program, const DeviceModel &model) {
       // First: the steps of a scan that is no kernel are ops for all others.
       program.addPass(createLowerScans(model.lowerScans));
       // The library gets large matmuls and convolutions while they are whole
       // ops.
       program.addPass(createSelect(model.select));
       // Before nests: whole ops move to the library's layouts with one clone.
       program.addPass(createPropagateLayouts({model.select.provider}));
       // Last of the passes on whole ops: calls have their reshapes now.
       program.addPass(createMergeRows());
     }},
    {"nests",
     [](OpPassManager &program, const DeviceModel &model) {
       // Attention, matmuls of pairs and the like are kernels from the
       // beginning: fusion sees what they read and write, and joins the sums of
       // their parts.
       program.addPass(createLowerToKernels(model.lowerToKernels));
       // Every other op becomes loop nests, so that fusion knows one form only.
       program.addPass(createLowerToNests(model.lowerToNests));
     }},
    {"fuse",
     [](OpPassManager &program, const DeviceModel &model) {
       // Join nests while they are on tensors: maps compose, nothing aliases.
       program.addPass(createFuse(model.fuse));
       // Fusion has decided which tensors are stored. Store them narrow, so
       // that equal reads match, and let two reductions share their reads.
       program.addPass(createNarrowResults());
       program.addPass(createJoinSums());
       // Fused nests are known: long sums get a dimension for threads.
       program.addPass(createSplitReductions(model.splitReductions));
       // Nests are final: rows between them and library calls may be padded.
       if (model.padsRows)
         program.addPass(createPadRows());
     }},
    {"kernels",
     [](OpPassManager &program, const DeviceModel &model) {
       // Updates of weights follow the tiles of their gradients, before others
       // of the same form share a launch.
       if (model.lowerToKernels.matmuls)
         program.addPass(createUpdateInTiles());
       // Nests become code to launch; from here on their order is fixed.
       program.addPass(createFormKernels(model.formKernels));
       // Calls are final: add a kernel for epilogues that a GPU may lack.
       if (model.keepsEpilogues)
         program.addPass(createKeepEpilogues());
     }},
    {"schedule",
     [](OpPassManager &program, const DeviceModel &) {
       // Kernels exist: order them for little memory and in-place updates.
       program.addNestedPass<GraphOp>(createSchedule());
     }},
};

} // namespace

llvm::ArrayRef<llvm::StringRef> gradus::codegenStages() {
  static const auto names = [] {
    SmallVector<StringRef> names;
    for (const Stage &stage : stages)
      names.push_back(stage.name);
    return names;
  }();
  return names;
}

void gradus::buildCodegenPipeline(OpPassManager &manager, StringRef lastStage,
                                  const DeviceModel &model,
                                  const StageAdded &added) {
  OpPassManager &program = manager.nest<ProgramOp>();
  for (const Stage &stage : stages) {
    stage.addPasses(program, model);
    if (added)
      added(stage.name, program);
    if (stage.name == lastStage)
      return;
  }
}

void gradus::registerCodegenPipeline() {
  registerStages("codegen", "Turns the graphs of a program into commands",
                 codegenStages(), [](OpPassManager &manager, StringRef last) {
                   buildCodegenPipeline(manager, last);
                 });
}

void gradus::registerCompiler(DialectRegistry &registry) {
  registerDialects(registry);
  registry.insert<plan::PlanDialect>();
  static const bool once = [] {
    mlir::registerTransformsPasses();
    registerPasses();
    registerCodegenPasses();
    registerCodegenPipeline();
    return true;
  }();
  (void)once;
}

// Compiles a program into an artifact: runs the passes, then codegen.
#pragma once

#include "codegen/artifact/artifact_sink.h"
#include "codegen/artifact/tuning.h"
#include "codegen/targets/target.h"
#include "ir/gradus.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace gradus {

/// Observes the passes of all stages (frontends/compiler/pass_trace.h). The
/// stages of codegen run once for each device model, on a copy of the program.
class PassWatcher {
public:
  virtual ~PassWatcher() = default;
  /// Called after the passes of a stage were added to those on programs.
  /// `stage` names the targets if it runs only for some of them.
  virtual void stageAdded(llvm::StringRef stage,
                          mlir::OpPassManager &program) = 0;
  /// Called when all passes of this manager are added, before they run.
  virtual void watch(mlir::PassManager &manager) = 0;
};

struct CompileOptions {
  /// "cpu" (this machine) or "cpu:x86-64-v3" ..., one plan each; "cuda",
  /// "cuda:sm_90" or "emulated", which are images of one plan.
  std::vector<std::string> targets = {"cpu"};
  LibraryUse libraries;
  /// Logical threads to plan for.
  uint32_t threads = kPlannedThreads;
  /// The recipe as JSON, which the artifact keeps for users who inspect it.
  std::string recipe;
  /// The folder of compiled GPU kernels (kernel_cache.h); empty: none.
  std::string kernelCache;
  /// The fastest algorithms of GPUs for library calls.
  Tuning tuning;
  PassWatcher *watcher = nullptr;
  /// Whether the stage `model` has run on the program.
  bool afterModel = false;
  /// Whether the artifact takes the program along (program_section.h).
  bool withProgram = true;
  /// Changes the program after the stage `model`, and after the artifact took
  /// it along; may be empty.
  std::function<mlir::LogicalResult(mlir::ModuleOp)> change;
  /// Whether a step that needs more than the recipe's memory limit is compiled
  /// to be as near to it as possible, instead of refused.
  bool mayExceedLimit = false;
};

/// The figures of a plan that are known before it runs, in bytes.
struct CompileReport {
  struct Graph {
    std::string name;
    int64_t commands = 0;
    int64_t arena = 0;
    int64_t bound = 0; // the largest sum of live bytes
  };
  std::string target;
  std::vector<Graph> graphs;
  int64_t state = 0;
  int64_t arena = 0;
  int64_t constants = 0;
  int64_t code = 0;
  int64_t predicted() const { return state + arena + constants + code; }
};

/// The names of all stages in order: those of passes/pipeline.cpp, then those
/// of codegen/pipeline.cpp.
std::vector<std::string> compileStages();

/// Runs the stages on the module's program after `startAfter` (from the first
/// if empty) up to and including `lastStage` (all if empty); the stages of
/// codegen compile for the given device model. `startAfter` is a stage of
/// passes/pipeline.cpp. Errors are diagnostics of the context.
mlir::LogicalResult runStages(mlir::ModuleOp module,
                              llvm::StringRef lastStage = "",
                              const DeviceModel &model = {},
                              llvm::StringRef startAfter = "");

/// Runs all stages, plans memory, emits code for each target, and writes the
/// artifact. If a pass fails it emits diagnostics, and the returned error only
/// refers to them. `reports` gets one entry per target.
llvm::Error compileProgram(mlir::ModuleOp module, const CompileOptions &options,
                           const ArtifactSink &sink,
                           std::vector<CompileReport> *reports = nullptr);
/// Compiles into memory.
llvm::Expected<std::vector<char>>
compileProgram(mlir::ModuleOp module, const CompileOptions &options,
               std::vector<CompileReport> *reports = nullptr);

} // namespace gradus

// From a program to an artifact: the passes, then codegen.
#pragma once

#include "codegen/artifact_sink.h"
#include "codegen/target.h"
#include "codegen/tuning.h"
#include "ir/gradus.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

/// Follows the passes of all stages, as frontends/compiler/pass_trace.h does.
/// The stages of codegen run once for each model of a device, on a copy of the
/// program.
class PassWatcher {
public:
  virtual ~PassWatcher() = default;
  /// The passes of a stage stand at the end of those on programs. Where stages
  /// run for some of the targets, `stage` says which.
  virtual void stageAdded(llvm::StringRef stage,
                          mlir::OpPassManager &program) = 0;
  /// All passes of this manager are there; they run next.
  virtual void watch(mlir::PassManager &manager) = 0;
};

struct CompileOptions {
  /// "cpu" (this machine) or "cpu:x86-64-v3" ..., one plan each; "cuda",
  /// "cuda:sm_90" or "emulated", which are images of one plan.
  std::vector<std::string> targets = {"cpu"};
  LibraryUse libraries;
  /// Logical threads to plan for.
  uint32_t threads = 2;
  /// The recipe as JSON, stored for those who inspect the artifact.
  std::string recipe;
  /// Folder of compiled GPU kernels (kernel_cache.h); empty: none.
  std::string kernelCache;
  /// By which algorithms cards compute calls of libraries fastest.
  Tuning tuning;
  PassWatcher *watcher = nullptr;
};

/// What the compiler promises of a plan, known before anything runs. Bytes.
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

/// The stages by name, in order: those of passes/pipeline.cpp, then those of
/// codegen/pipeline.cpp.
std::vector<std::string> compileStages();

/// Runs the stages on the module's program up to and including `lastStage`
/// (all if empty), those of codegen for this model of a device. Errors are
/// diagnostics of the context.
mlir::LogicalResult runStages(mlir::ModuleOp module,
                              llvm::StringRef lastStage = "",
                              const DeviceModel &model = {});

/// Runs all stages, plans memory and emits code for each target, and writes the
/// artifact. Errors found by passes are diagnostics; the returned error then
/// only says so. `reports` become one a target.
llvm::Error compileProgram(mlir::ModuleOp module, const CompileOptions &options,
                           const ArtifactSink &sink,
                           std::vector<CompileReport> *reports = nullptr);
/// The same in memory.
llvm::Expected<std::vector<char>>
compileProgram(mlir::ModuleOp module, const CompileOptions &options,
               std::vector<CompileReport> *reports = nullptr);

} // namespace gradus

// From a program to an artifact: the passes, then codegen.
#pragma once

#include "ir/gradus.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

/// Follows the passes of all stages, as frontends/compiler/pass_trace.h does.
class PassWatcher {
public:
  virtual ~PassWatcher() = default;
  /// The passes of a stage stand at the end of those on programs.
  virtual void stageAdded(llvm::StringRef stage,
                          mlir::OpPassManager &program) = 0;
  /// All passes are there; they run next.
  virtual void watch(mlir::PassManager &manager) = 0;
};

struct CompileOptions {
  /// "cpu" (this machine) or "cpu:x86-64-v3" ...; one plan each.
  std::vector<std::string> targets = {"cpu"};
  /// Logical threads to plan for.
  uint32_t threads = 2;
  /// The recipe as JSON, stored for those who inspect the artifact.
  std::string recipe;
  PassWatcher *watcher = nullptr;
};

/// What the compiler promises, known before anything runs. Bytes.
struct CompileReport {
  struct Graph {
    std::string name;
    int64_t commands = 0;
    int64_t arena = 0;
    int64_t bound = 0; // the largest sum of live bytes
  };
  std::vector<Graph> graphs;
  int64_t state = 0;
  int64_t arena = 0;
  int64_t constants = 0;
  int64_t code = 0; // of the first target
  int64_t predicted() const { return state + arena + constants + code; }
};

/// The stages by name, in order: those of passes/pipeline.cpp, then those of
/// codegen/pipeline.cpp.
std::vector<std::string> compileStages();

/// Runs the stages on the module's program up to and including `lastStage`
/// (all if empty), for targets whose library computes in bf16 or not. Errors
/// are diagnostics of the context.
mlir::LogicalResult runStages(mlir::ModuleOp module,
                              llvm::StringRef lastStage = "",
                              bool narrowLibrary = true,
                              PassWatcher *watcher = nullptr);

/// Runs all stages, plans memory, emits code and returns the artifact's bytes.
/// Errors found by passes are diagnostics; the returned error then only says
/// so.
llvm::Expected<std::vector<char>>
compileProgram(mlir::ModuleOp module, const CompileOptions &options,
               CompileReport *report = nullptr);

} // namespace gradus

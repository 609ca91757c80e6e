// From a program to an artifact: runs the stages, plans memory, emits code for
// each target, writes the file.

#include "codegen/compile.h"

#include "codegen/artifact_writer.h"
#include "codegen/memory_limit.h"
#include "codegen/pipeline.h"
#include "codegen/sizes.h"
#include "passes/losses.h"
#include "passes/passes.h"
#include "passes/recipe.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

std::vector<std::string> gradus::compileStages() {
  std::vector<std::string> stages;
  for (StringRef stage : trainingStages())
    stages.push_back(stage.str());
  for (StringRef stage : codegenStages())
    stages.push_back(stage.str());
  return stages;
}

LogicalResult gradus::runStages(ModuleOp module, StringRef lastStage,
                                bool narrowLibrary, PassWatcher *watcher) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  StageAdded added;
  if (watcher)
    added = [watcher](StringRef stage, OpPassManager &program) {
      watcher->stageAdded(stage, program);
    };
  bool stopsEarly = llvm::is_contained(trainingStages(), lastStage);
  buildTrainingPipeline(manager, {stopsEarly ? lastStage.str() : ""}, added);
  if (!stopsEarly)
    buildCodegenPipeline(manager, lastStage, narrowLibrary, added);
  if (watcher)
    watcher->watch(manager);
  return manager.run(module);
}

/// A number or a flag of the recipe; `fallback` if it does not say.
static int64_t recipeInteger(ProgramOp program, StringRef key,
                             int64_t fallback) {
  DictionaryAttr recipe = program.getRecipeAttr();
  Attribute value = recipe ? recipe.get(key) : Attribute();
  if (auto flag = dyn_cast_or_null<BoolAttr>(value))
    return flag.getValue();
  auto number = dyn_cast_or_null<IntegerAttr>(value);
  return number ? number.getInt() : fallback;
}

static ArtifactParts planProgram(ProgramOp program,
                                 const CompileOptions &options) {
  ArtifactParts parts;
  parts.program = program;
  parts.states = placeStates(program);
  for (auto graph : program.getBody().getOps<GraphOp>()) {
    parts.graphs.push_back(graph);
    parts.memory.push_back(planMemory(graph, parts.states, parts.constants));
  }
  program.walk([&](plan::KernelOp kernel) { parts.kernels.push_back(kernel); });
  parts.recipe = options.recipe;
  parts.threads = options.threads;
  parts.classes = labelClasses(program);
  parts.seed = recipeInteger(program, "seed", 0);
  parts.deterministic = recipeInteger(program, "deterministic", 0) != 0;
  return parts;
}

static llvm::Error emitTargets(ArtifactParts &parts,
                               const CompileOptions &options) {
  for (const std::string &name : options.targets) {
    llvm::Expected<CpuTarget> target = cpuTarget(name);
    if (!target)
      return target.takeError();
    llvm::Expected<CpuCode> code = emitCpu(parts.kernels, *target);
    if (!code)
      return code.takeError();
    parts.targets.push_back({std::move(*target), std::move(*code)});
  }
  return llvm::Error::success();
}

static CompileReport reportOf(const ArtifactParts &parts) {
  CompileReport report;
  for (size_t i = 0; i < parts.graphs.size(); ++i) {
    GraphOp graph = parts.graphs[i];
    report.graphs.push_back({graph.getSymName().str(),
                             static_cast<int64_t>(commandsOf(graph).size()),
                             parts.memory[i].arena, parts.memory[i].bound});
    report.arena = std::max(report.arena, parts.memory[i].arena);
  }
  report.state = parts.states.bytes;
  report.constants = parts.constants.bytes;
  if (!parts.targets.empty())
    report.code = parts.targets.front().code.code.size();
  return report;
}

/// Plans memory for commands, emits their code and fills the report.
static llvm::Expected<ArtifactParts> planAndEmit(ProgramOp program,
                                                 const CompileOptions &options,
                                                 const IndexLimits &limits,
                                                 CompileReport &report) {
  ArtifactParts parts = planProgram(program, options);
  parts.indexLimits = limits;
  if (llvm::Error error = emitTargets(parts, options))
    return std::move(error);
  report = reportOf(parts);
  return parts;
}

/// Whether every target has instructions for products of bf16. Tells those who
/// ask for 16 bits where that will cost them time.
static llvm::Expected<bool> computesNarrow(ProgramOp program,
                                           ArrayRef<std::string> targets) {
  std::string precision = recipeOf(program).text("precision", "f32");
  bool all = true;
  for (const std::string &name : targets) {
    llvm::Expected<CpuTarget> target = cpuTarget(name);
    if (!target)
      return target.takeError();
    if (precision == "f16" && !target->fma) // nor conversions, then
      return llvm::createStringError(
          "precision f16: target " + name +
          " cannot convert f16, expected x86-64-v3 or later, or bf16");
    all &= target->bf16;
    if (precision == "f16" || (precision == "bf16" && !target->bf16))
      mlir::emitWarning(program.getLoc())
          << "precision " << precision << ": target " << name
          << " has no instructions for products of " << precision
          << ", so that large steps take longer than in f32";
  }
  return all;
}

static ProgramOp programOf(ModuleOp module) {
  return *module.getOps<ProgramOp>().begin();
}

/// To the next hundredth, so that a limit of that many is met.
static std::string mebibytes(int64_t bytes) {
  return llvm::formatv("{0:F2} MiB", std::ceil(bytes / 10485.76) / 100);
}

/// Runs twice what must be so that all bytes, those of the code too, are within
/// the limit. `module` holds scheduled commands.
static llvm::Expected<std::vector<char>>
compileWithin(ModuleOp module, int64_t limit, const CompileOptions &options,
              const IndexLimits &indices, CompileReport &report) {
  auto predict = [&](ModuleOp trial) {
    return reportOf(planProgram(programOf(trial), options)).predicted();
  };
  int64_t code = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    llvm::Expected<Fitted> fitted = fitMemory(module, limit - code, predict);
    if (!fitted)
      return fitted.takeError();
    auto parts =
        planAndEmit(programOf(*fitted->module), options, indices, report);
    if (!parts)
      return parts.takeError();
    if (report.predicted() <= limit)
      return writeArtifact(*parts);
    // With other code it would not fit either.
    if (fitted->bytes > limit)
      break;
    code = report.code;
  }
  return llvm::createStringError(
      "memory_limit: found " +
      (limit < 1048576 ? llvm::formatv("{0} bytes", limit).str()
                       : mebibytes(limit)) +
      ", expected at least the smallest possible, " +
      mebibytes(report.predicted()) + " (state " + mebibytes(report.state) +
      ", constants " + mebibytes(report.constants) + ", code " +
      mebibytes(report.code) + ", arena " + mebibytes(report.arena) +
      " with recomputation)");
}

llvm::Expected<std::vector<char>>
gradus::compileProgram(ModuleOp module, const CompileOptions &options,
                       CompileReport *report) {
  auto programs = module.getOps<ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return llvm::createStringError(
        "the module holds %d programs, expected one",
        static_cast<int>(llvm::range_size(programs)));
  CompileReport own;
  CompileReport &figures = report ? *report : own;
  int64_t limit = recipeInteger(*programs.begin(), "memory_limit", 0);
  IndexLimits indices = indexLimits(*programs.begin());
  llvm::Expected<bool> narrow =
      computesNarrow(*programs.begin(), options.targets);
  if (!narrow)
    return narrow.takeError();
  if (failed(verifySizes(module)) ||
      failed(runStages(module, "", *narrow, options.watcher)) ||
      failed(verifySizes(module)))
    return llvm::createStringError(
        "the program does not compile; see the errors above");
  if (limit > 0)
    return compileWithin(module, limit, options, indices, figures);
  auto parts = planAndEmit(*programs.begin(), options, indices, figures);
  if (!parts)
    return parts.takeError();
  return writeArtifact(*parts);
}

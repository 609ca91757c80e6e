// Compiles a program into an artifact: runs the stages, those of codegen once
// for each device model, plans memory, emits code for each target, writes the
// file.

#include "codegen/compile.h"

#include "codegen/artifact/artifact_writer.h"
#include "codegen/artifact/program_section.h"
#include "codegen/libraries/channel_blocks.h"
#include "codegen/libraries/onednn.h"
#include "codegen/libraries/select_winograd.h"
#include "codegen/memory/memory_limit.h"
#include "codegen/names.h"
#include "codegen/pipeline.h"
#include "codegen/sizes.h"
#include "ir/op_costs.h"
#include "passes/model/losses.h"
#include "passes/passes.h"
#include "passes/recognition/mixed_precision.h"
#include "recipe/run_settings.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

//===-- stages ------------------------------------------------------------===//

std::vector<std::string> gradus::compileStages() {
  std::vector<std::string> stages;
  for (StringRef stage : trainingStages())
    stages.push_back(stage.str());
  for (StringRef stage : codegenStages())
    stages.push_back(stage.str());
  return stages;
}

/// Runs the passes that `add` adds to a manager. `of` is appended to the
/// stages' names.
static LogicalResult
runPasses(ModuleOp module, PassWatcher *watcher, StringRef of,
          llvm::function_ref<void(PassManager &, const StageAdded &)> add) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  StageAdded added;
  if (watcher)
    added = [watcher, of](StringRef stage, OpPassManager &program) {
      watcher->stageAdded((stage + of).str(), program);
    };
  add(manager, added);
  if (watcher)
    watcher->watch(manager);
  return manager.run(module);
}

static LogicalResult runTraining(ModuleOp module, StringRef startAfter,
                                 StringRef lastStage, PassWatcher *watcher) {
  return runPasses(module, watcher, "",
                   [&](PassManager &manager, const StageAdded &added) {
                     buildTrainingPipeline(
                         manager, {lastStage.str(), startAfter.str()}, added);
                   });
}

static LogicalResult runCodegen(ModuleOp module, StringRef lastStage,
                                const DeviceModel &model, PassWatcher *watcher,
                                StringRef of = "") {
  return runPasses(module, watcher, of,
                   [&](PassManager &manager, const StageAdded &added) {
                     buildCodegenPipeline(manager, lastStage, model, added);
                   });
}

LogicalResult gradus::runStages(ModuleOp module, StringRef lastStage,
                                const DeviceModel &model,
                                StringRef startAfter) {
  if (llvm::is_contained(trainingStages(), lastStage))
    return runTraining(module, startAfter, lastStage, nullptr);
  if (failed(runTraining(module, startAfter, "", nullptr)))
    return failure();
  return runCodegen(module, lastStage, model, nullptr);
}

//===-- targets -----------------------------------------------------------===//

static ProgramOp programOf(ModuleOp module) {
  return *module.getOps<ProgramOp>().begin();
}

/// Warns users of 16 bits if a target would be slow; returns an error if a
/// target does not support the precision.
static llvm::Error checkPrecision(ProgramOp program, const Target &target) {
  Precision precision = precisionOf(program);
  if (!target.cpu())
    return llvm::Error::success();
  if (precision == Precision::f16 &&
      !target.cpu()->fma) // such targets have no f16 conversions
    return llvm::createStringError(
        "precision f16: target " + target.name +
        " cannot convert f16, expected x86-64-v3 or later, or bf16");
  if (precision == Precision::f16 ||
      (precision == Precision::bf16 && !target.model.select.narrow))
    mlir::emitWarning(program.getLoc())
        << "precision " << nameOf(precision) << ": target " << target.name
        << " has no instructions for products of " << nameOf(precision)
        << ", so that large steps take longer than in f32";
  return llvm::Error::success();
}

static bool hasBf16(ProgramOp program) {
  auto result = program.walk([](Operation *op) {
    auto isBf16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
    bool has = llvm::any_of(op->getOperandTypes(), isBf16) ||
               llvm::any_of(op->getResultTypes(), isBf16);
    return has ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {

/// The targets with equal models, by their numbers, and their copy of the
/// program.
struct TargetGroup {
  DeviceModel model;
  SmallVector<size_t> targets;
  OwningOpRef<ModuleOp> copy; // empty: the last group has the program itself
};

} // namespace

/// Whether a library might get a matmul whose left matrix is transposed, which
/// our kernels may be faster at; `lower-to-kernels` looks at all of its sizes.
static bool hasLargeWeightGradients(ProgramOp program) {
  auto result = program.walk([&](MatmulOp op) {
    return op.getTransposeA() && tensorType(op).getRank() == 2 &&
                   graphFlops(*op) >= kFewestOneDnnFlops
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Tells which of the things a program has that options of devices are for.
struct OptionUses {
  bool narrow, matmuls, convolutions, choiceOfConvolutions, blocksOf8;
};

static OptionUses optionUses(ProgramOp program) {
  bool narrow = hasBf16(program);
  return {narrow, narrow || hasLargeWeightGradients(program),
          hasConvolutions(program), leavesChoiceOfConvolutions(program),
          mayHaveBlocksOf8(program)};
}

/// The model without the options that the program does not use.
static DeviceModel usedOptions(DeviceModel model, const OptionUses &uses) {
  auto onlyFor = [](bool isUsed, auto &...options) {
    if (!isUsed)
      ((options = {}), ...);
  };
  SelectOptions &select = model.select;
  onlyFor(uses.narrow, select.narrow, select.tiles, model.lowerScans.pairs,
          model.lowerToKernels.pairs);
  onlyFor(uses.matmuls, model.lowerToKernels.matmuls);
  onlyFor(uses.convolutions, select.tiles, model.lowerToNests.lanes);
  onlyFor(uses.choiceOfConvolutions, select.winograd);
  onlyFor(uses.blocksOf8, select.blocksOf8);
  return model;
}

/// Groups targets with equal models, ignoring options that this program does
/// not use.
static std::vector<TargetGroup> groupTargets(ModuleOp module,
                                             ArrayRef<Target> targets) {
  std::vector<TargetGroup> groups;
  OptionUses uses = optionUses(programOf(module));
  for (auto [number, target] : llvm::enumerate(targets)) {
    DeviceModel model = usedOptions(target.model, uses);
    auto same = llvm::find_if(
        groups, [&](const TargetGroup &group) { return group.model == model; });
    if (same == groups.end())
      same = groups.insert(groups.end(), TargetGroup{model, {}, {}});
    same->targets.push_back(number);
  }
  for (TargetGroup &group : MutableArrayRef(groups).drop_back())
    group.copy = module.clone();
  return groups;
}

//===-- plans -------------------------------------------------------------===//

static PlannedProgram planProgram(ProgramOp program,
                                  const ArtifactParts &parts) {
  PlannedProgram planned;
  for (auto graph : program.getBody().getOps<GraphOp>()) {
    planned.graphs.push_back(graph);
    planned.memory.push_back(planMemory(graph, parts.states, parts.constants));
  }
  program.walk(
      [&](plan::KernelOp kernel) { planned.kernels.push_back(kernel); });
  return planned;
}

static CompileReport reportOf(const PlannedProgram &planned,
                              const ArtifactParts &parts) {
  CompileReport report;
  for (auto [graph, memory] : llvm::zip(planned.graphs, planned.memory)) {
    report.graphs.push_back({GraphOp(graph).getSymName().str(),
                             static_cast<int64_t>(commandsOf(graph).size()),
                             memory.arena, memory.bound});
    report.arena = std::max(report.arena, memory.arena);
  }
  report.state = parts.states.bytes;
  report.constants = parts.constants.bytes;
  return report;
}

static CompileReport reportOf(const TargetPlan &plan,
                              const ArtifactParts &parts) {
  CompileReport report = reportOf(*plan.program, parts);
  report.target = plan.target.name;
  report.code = plan.codeBytes();
  return report;
}

namespace {

/// Plans commands and emits code for a program after all stages.
class PlanMaker {
public:
  PlanMaker(ArrayRef<Target> targets, ArtifactParts &parts, KernelCache cache)
      : targets_(targets), parts_(parts), cache_(std::move(cache)) {
    parts_.plans.resize(targets.size());
  }

  /// Makes the plans for the targets of a group, whose commands are in
  /// `module`. A limit of 0 means none.
  llvm::Error make(ModuleOp module, const TargetGroup &group, int64_t limit);
  /// Checks that all plans are within the limit.
  llvm::Error checkLimit(int64_t limit) const;

private:
  llvm::Error emit(PlannedProgram planned, const TargetGroup &group);
  llvm::Error makeWithin(ModuleOp module, const TargetGroup &group,
                         int64_t limit);
  CompileReport largest(const TargetGroup &group) const;

  ArrayRef<Target> targets_;
  ArtifactParts &parts_;
  std::optional<CompileReport> tooLarge_; // the largest that exceeds it
  KernelCache cache_;
};

} // namespace

static llvm::Error emitCode(TargetPlan &plan, const KernelCache &cache,
                            MLIRContext &context) {
  ArrayRef<plan::KernelOp> kernels = plan.program->kernels;
  auto take = [&](auto code) -> llvm::Error {
    if (!code)
      return code.takeError();
    plan.code = std::move(*code);
    return llvm::Error::success();
  };
  if (const CpuTarget *cpu = plan.target.cpu())
    return take(emitCpu(kernels, *cpu));
  return take(emitGpuImages(kernels, std::get<GpuTarget>(plan.target.code),
                            *plan.target.model.gpu, cache, context));
}

llvm::Error PlanMaker::emit(PlannedProgram planned, const TargetGroup &group) {
  auto program = std::make_shared<PlannedProgram>(std::move(planned));
  for (size_t number : group.targets) {
    TargetPlan &plan = parts_.plans[number];
    plan.target = targets_[number];
    plan.program = program;
    if (llvm::Error error =
            emitCode(plan, cache_, *parts_.program.getContext()))
      return error;
  }
  return llvm::Error::success();
}

/// The report of the plan in a group that needs most, due to the longest code.
CompileReport PlanMaker::largest(const TargetGroup &group) const {
  CompileReport largest;
  for (size_t number : group.targets) {
    CompileReport report = reportOf(parts_.plans[number], parts_);
    if (report.predicted() > largest.predicted())
      largest = std::move(report);
  }
  return largest;
}

/// Rounds up to the next hundredth, so that this number as the limit would
/// suffice.
static std::string mebibytes(int64_t bytes) {
  return llvm::formatv("{0:F2} MiB", std::ceil(bytes / 10485.76) / 100);
}

/// The graph that needs the arena's size.
static std::string largestGraph(const CompileReport &report) {
  return llvm::max_element(report.graphs,
                           [](const auto &one, const auto &other) {
                             return one.arena < other.arena;
                           })
      ->name;
}

static llvm::Error doesNotFit(int64_t limit, const CompileReport &report,
                              bool isOneOfSeveral) {
  return llvm::createStringError(
      "memory_limit: found " +
      (limit < 1048576 ? llvm::formatv("{0} bytes", limit).str()
                       : mebibytes(limit)) +
      ", expected at least the smallest possible, " +
      mebibytes(report.predicted()) + " (state " + mebibytes(report.state) +
      ", constants " + mebibytes(report.constants) + ", code " +
      mebibytes(report.code) + ", arena " + mebibytes(report.arena) + " of @" +
      largestGraph(report) + " with recomputation)" +
      (isOneOfSeveral ? " for target " + report.target : ""));
}

/// Recomputes as much as is needed to keep all bytes, including the code,
/// within the limit, or as near to it as possible. `module` holds scheduled
/// commands.
llvm::Error PlanMaker::makeWithin(ModuleOp module, const TargetGroup &group,
                                  int64_t limit) {
  auto predict = [&](GraphOp graph) {
    return parts_.states.bytes + parts_.constants.bytes +
           planMemory(graph, parts_.states, parts_.constants).arena;
  };
  CompileReport report;
  for (int attempt = 0; attempt < 2; ++attempt) {
    llvm::Expected<Fitted> fitted =
        fitMemory(module, limit - report.code, predict);
    if (!fitted)
      return fitted.takeError();
    PlannedProgram planned = planProgram(programOf(*fitted->module), parts_);
    planned.module = std::move(fitted->module);
    if (llvm::Error error = emit(std::move(planned), group))
      return error;
    report = largest(group);
    if (report.predicted() <= limit)
      return llvm::Error::success();
    // Different code would not change that.
    if (fitted->bytes > limit)
      break;
  }
  if (!tooLarge_ || report.predicted() > tooLarge_->predicted())
    tooLarge_ = std::move(report);
  return llvm::Error::success();
}

/// The error names the plan that needs most: a limit for it suits all.
llvm::Error PlanMaker::checkLimit(int64_t limit) const {
  return tooLarge_ ? doesNotFit(limit, *tooLarge_, parts_.plans.size() > 1)
                   : llvm::Error::success();
}

llvm::Error PlanMaker::make(ModuleOp module, const TargetGroup &group,
                            int64_t limit) {
  return limit > 0 ? makeWithin(module, group, limit)
                   : emit(planProgram(programOf(module), parts_), group);
}

//===-- artifacts ---------------------------------------------------------===//

/// The parts that do not depend on targets, for a program after its training
/// stages.
static ArtifactParts partsOf(ProgramOp program, const CompileOptions &options) {
  ArtifactParts parts;
  parts.program = program;
  parts.states = placeStates(program);
  parts.recipe = options.recipe;
  parts.threads = options.threads;
  parts.tuning = options.tuning;
  parts.classes = labelClasses(program);
  RunSettings run = runSettings(program);
  parts.seed = run.seed;
  parts.deterministic = run.deterministic;
  return parts;
}

static ModuleOp moduleOf(const TargetGroup &group, ModuleOp module) {
  return group.copy ? ModuleOp(*group.copy) : module;
}

/// Runs codegen for each group, and assigns offsets to the constants of all.
static LogicalResult runCodegen(ModuleOp module, ArrayRef<TargetGroup> groups,
                                ArrayRef<Target> targets, PassWatcher *watcher,
                                ConstantPlaces &constants) {
  for (const TargetGroup &group : groups) {
    ModuleOp own = moduleOf(group, module);
    auto names = llvm::map_range(
        group.targets, [&](size_t number) { return targets[number].name; });
    std::string of = groups.size() > 1 ? " of " + llvm::join(names, ", ") : "";
    if (failed(runCodegen(own, "", group.model, watcher, of)) ||
        failed(verifySizes(own)))
      return failure();
    for (auto graph : programOf(own).getBody().getOps<GraphOp>())
      placeConstants(graph, constants);
  }
  return success();
}

static llvm::Error stopped() {
  return llvm::createStringError(
      "the program does not compile; see the errors above");
}

namespace {

/// The parts that the stage `model` leaves for the artifact.
struct ModelParts {
  IndexLimits indexLimits;
  std::optional<ProgramSection> program; // none: it is left out
};

} // namespace

/// Runs the stages of passes/pipeline.cpp.
static FailureOr<ModelParts> runTraining(ModuleOp module,
                                         const CompileOptions &options) {
  if (!options.afterModel &&
      failed(runTraining(module, "", kModelStage, options.watcher)))
    return failure();
  ModelParts parts{indexLimits(programOf(module)), std::nullopt};
  if (options.withProgram)
    parts.program = writeProgram(programOf(module));
  if ((options.change && failed(options.change(module))) ||
      failed(runTraining(module, kModelStage, "", options.watcher)) ||
      failed(verifyNames(module))) // Passes of plug-ins may add names.
    return failure();
  if (parts.program && !hasValues(programOf(module), *parts.program)) {
    mlir::emitWarning(module.getLoc())
        << "the artifact cannot be compiled for other targets, since a pass "
           "after the stage "
        << kModelStage << " changes initial values";
    parts.program.reset();
  }
  return parts;
}

/// Compiles everything but the file, which `write` writes.
static llvm::Error
compile(ModuleOp module, const CompileOptions &options,
        std::vector<CompileReport> *reports,
        llvm::function_ref<llvm::Error(const ArtifactParts &)> write) {
  if (options.targets.empty())
    return llvm::createStringError("no target, expected at least one");
  auto programs = module.getOps<ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return llvm::createStringError(
        "the module holds %d programs, expected one",
        static_cast<int>(llvm::range_size(programs)));
  ProgramOp program = *programs.begin();
  int64_t limit = runSettings(program).memoryLimit.value_or(0);
  auto targets =
      findTargets(options.targets, options.libraries, options.threads);
  if (!targets)
    return targets.takeError();
  for (const Target &target : *targets)
    if (llvm::Error error = checkPrecision(program, target))
      return error;
  if (failed(verifySizes(module)))
    return stopped();
  FailureOr<ModelParts> model = runTraining(module, options);
  if (failed(model))
    return stopped();
  ArtifactParts parts = partsOf(program, options);
  parts.indexLimits = std::move(model->indexLimits);
  if (model->program)
    parts.carried = std::move(model->program->bytes);
  std::vector<TargetGroup> groups = groupTargets(module, *targets);
  if (failed(runCodegen(module, groups, *targets, options.watcher,
                        parts.constants)))
    return stopped();
  PlanMaker maker(*targets, parts, KernelCache(options.kernelCache));
  for (const TargetGroup &group : groups)
    if (llvm::Error error = maker.make(moduleOf(group, module), group, limit))
      return error;
  if (!options.mayExceedLimit)
    if (llvm::Error error = maker.checkLimit(limit))
      return error;
  if (reports)
    for (const TargetPlan &plan : parts.plans)
      reports->push_back(reportOf(plan, parts));
  return write(parts);
}

llvm::Error gradus::compileProgram(ModuleOp module,
                                   const CompileOptions &options,
                                   const ArtifactSink &sink,
                                   std::vector<CompileReport> *reports) {
  return compile(module, options, reports, [&](const ArtifactParts &parts) {
    return writeArtifact(parts, sink);
  });
}

llvm::Expected<std::vector<char>>
gradus::compileProgram(ModuleOp module, const CompileOptions &options,
                       std::vector<CompileReport> *reports) {
  std::vector<char> file;
  auto write = [&](const ArtifactParts &parts) -> llvm::Error {
    auto bytes = writeArtifact(parts);
    if (!bytes)
      return bytes.takeError();
    file = *std::move(bytes);
    return llvm::Error::success();
  };
  if (llvm::Error error = compile(module, options, reports, write))
    return std::move(error);
  return file;
}

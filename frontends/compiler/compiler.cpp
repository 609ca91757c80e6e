// The compiler as the tool calls it: read, passes, codegen, in order.

#include "frontends/compiler/compiler.h"

#include "codegen/compile.h"
#include "codegen/names.h"
#include "codegen/pipeline.h"
#include "codegen/sizes.h"
#include "codegen/targets/target.h"
#include "frontends/compiler/basis.h"
#include "frontends/compiler/diagnostics.h"
#include "frontends/compiler/out_of_memory.h"
#include "frontends/compiler/pass_trace.h"
#include "frontends/compiler/program.h"
#include "frontends/compiler/reference.h"
#include "frontends/compiler/statistics.h"
#include "frontends/compiler/step_schedule.h"
#include "frontends/onnx/export/export.h"
#include "frontends/onnx/module_names.h"
#include "frontends/onnx/supported_ops.h"
#include "frontends/recipe/flags.h"
#include "frontends/recipe/plugins.h"
#include "messages/error_kind.h"
#include "messages/message.h"
#include "passes/distribution.h"
#include "passes/passes.h"
#include "runtime/well_known.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <optional>
#include <sched.h>

using namespace mlir;

namespace gradus::compiler {
namespace {

DialectRegistry dialects() {
  DialectRegistry registry;
  registerCompiler(registry);
  return registry;
}

absl::Status loadPlugins(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    if (llvm::Error error = recipe::loadPlugin(path))
      return invalid("--plugin ", llvm::toString(std::move(error)));
  return absl::OkStatus();
}

uint32_t usableCores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// One compilation: its context, diagnostics and program.
class Compilation {
public:
  explicit Compilation(const Request &request)
      : request_(request),
        context_(dialects(), MLIRContext::Threading::DISABLED),
        diagnostics_(context_, request.model, request.wanted.tell) {}

  absl::Status read();
  absl::StatusOr<Result> compile();
  absl::StatusOr<std::vector<Comparison>>
  compare(const std::vector<Weight> &inputs,
          const std::vector<OutputValues> &compiled, bool explains);
  absl::Status readBasis();
  ModuleOp module() { return *program_.module; }
  const std::vector<std::string> &warnings() const {
    return diagnostics_.warnings();
  }

private:
  absl::Status checkStage() const;
  bool asksOutputs() const;
  LogicalResult addOutputs(ModuleOp module, llvm::StringRef startAfter) const;
  absl::StatusOr<DeviceModel> firstModel() const;
  uint32_t threads() const {
    return request_.plan.threads ? request_.plan.threads : usableCores();
  }
  llvm::StringRef startAfter() const;
  absl::StatusOr<Result> stop();
  absl::StatusOr<std::string> report();
  std::vector<std::string> targets();
  void warnOfIdleOptions();
  CompileOptions options();
  absl::Status write(const CompileOptions &chosen, Result &result);
  void addModules(Trace &trace) const;
  absl::Status makeArtifact(Result &result);
  absl::Status failure(llvm::Error error) const;

  const Request &request_;
  MLIRContext context_;
  Diagnostics diagnostics_;
  Program program_;
};

absl::Status Compilation::read() {
  if (absl::Status status = loadPlugins(request_.plugins); !status.ok())
    return status;
  auto program = readProgram(request_, context_);
  if (!program.ok())
    return diagnostics_.hasErrors() ? diagnostics_.error("") : program.status();
  program_ = *std::move(program);
  if (failed(verifyNames(module())) || failed(verifySizes(module())))
    return diagnostics_.error("");
  return absl::OkStatus();
}

/// A basis is for a step: what only looks at a model does without. The values
/// of its file are read when nothing else is wrong.
absl::Status Compilation::readBasis() {
  for (ProgramOp program : module().getOps<ProgramOp>()) {
    GRADUS_ASSIGN_OR_RETURN(auto verifyValues, addBasis(program, request_));
    if (!verifyValues)
      continue;
    if (failed(verifyNames(module())) || failed(verifySizes(module())))
      return diagnostics_.error("");
    GRADUS_RETURN_IF_ERROR(verifyValues());
  }
  return absl::OkStatus();
}

absl::Status Compilation::checkStage() const {
  std::vector<std::string> stages = compileStages();
  if (request_.wanted.stopAfter.empty() ||
      std::find(stages.begin(), stages.end(), request_.wanted.stopAfter) !=
          stages.end())
    return absl::OkStatus();
  return invalid("--stop-after ", request_.wanted.stopAfter,
                 ": unknown stage; there are ", joined(stages));
}

/// Reports and dumps of codegen show the first target.
absl::StatusOr<DeviceModel> Compilation::firstModel() const {
  auto target = findTarget(
      request_.plan.targets.empty() ? "cpu" : request_.plan.targets.front(),
      {request_.plan.libraries, request_.plan.epilogues}, threads());
  if (!target)
    return failure(target.takeError());
  return target->model;
}

absl::StatusOr<Result> Compilation::stop() {
  absl::StatusOr<DeviceModel> model = firstModel();
  if (!model.ok())
    return model.status();
  if ((asksOutputs() && failed(addOutputs(module(), startAfter()))) ||
      failed(
          runStages(module(), request_.wanted.stopAfter, *model, startAfter())))
    return diagnostics_.error("does not compile");
  Result result;
  llvm::raw_string_ostream stream(result.ir);
  OpPrintingFlags flags;
  if (!request_.wanted.printWeights)
    flags.elideLargeElementsAttrs(16).elideLargeResourceString(64);
  module().print(stream, flags);
  return result;
}

/// Reports the program after each stage; each stage runs on a copy from the
/// start.
absl::StatusOr<std::string> Compilation::report() {
  absl::StatusOr<DeviceModel> model = firstModel();
  if (!model.ok())
    return model.status();
  OwningOpRef<ModuleOp> whole(module().clone());
  if (asksOutputs() && failed(addOutputs(*whole, startAfter())))
    return diagnostics_.error("does not compile");
  std::string text = reportHeader() + reportLines("read", *whole);
  for (const std::string &stage : compileStages()) {
    OwningOpRef<ModuleOp> copy(whole->clone());
    if (failed(runStages(*copy, stage, *model, startAfter())))
      return diagnostics_.error("does not compile");
    text += reportLines(stage, *copy);
    if (stage == request_.wanted.stopAfter)
      break;
  }
  return text;
}

/// Returns the targets of the request without duplicates.
std::vector<std::string> Compilation::targets() {
  std::vector<std::string> targets;
  for (const std::string &target : request_.plan.targets)
    if (!llvm::is_contained(targets, target))
      targets.push_back(target);
    else
      module().emitWarning() << "--target " << target
                             << " is given twice; there will be one plan of it";
  return targets;
}

/// A way of a GPU's library that nothing is compiled for is no mistake, and may
/// be one of the target.
void Compilation::warnOfIdleOptions() {
  bool hasGpu =
      llvm::any_of(request_.plan.targets, [](const std::string &target) {
        return !llvm::StringRef(target).starts_with("cpu");
      });
  if (!hasGpu && request_.plan.epilogues != "all")
    module().emitWarning()
        << "--epilogues " << request_.plan.epilogues
        << " changes nothing: no target is a GPU (--target cuda or emulated)";
  if (hasGpu && llvm::any_of(module().getOps<ProgramOp>(), isDataParallel))
    module().emitWarning()
        << "distribution.mode is \"data_parallel\", and GPUs "
           "cannot sum over ranks yet: their plans will be "
           "refused when they are loaded";
}

CompileOptions Compilation::options() {
  CompileOptions options;
  warnOfIdleOptions();
  if (!request_.plan.targets.empty())
    options.targets = targets();
  options.libraries = {request_.plan.libraries, request_.plan.epilogues};
  options.threads = threads();
  options.recipe = program_.recipe;
  if (request_.plan.kernelCache != "off")
    options.kernelCache = request_.plan.kernelCache.empty()
                              ? kernelCacheFolder()
                              : request_.plan.kernelCache;
  options.afterModel = program_.afterModel;
  options.withProgram = request_.wanted.withProgram;
  options.mayExceedLimit = request_.wanted.mayExceedLimit;
  if (asksOutputs())
    options.change = [this](ModuleOp module) {
      return addOutputs(module, kModelStage);
    };
  for (const TunedChoice &choice : request_.plan.tuning)
    options.tuning[choice.call].push_back(
        {choice.card, choice.library, choice.algorithm});
  return options;
}

absl::Status Compilation::failure(llvm::Error error) const {
  return diagnostics_.error(llvm::toString(std::move(error)));
}

/// The stage that has run on the program; none if empty.
llvm::StringRef Compilation::startAfter() const {
  return program_.afterModel ? llvm::StringRef(kModelStage) : "";
}

bool Compilation::asksOutputs() const {
  return request_.wanted.gradientOutputs || request_.wanted.nodeOutputs;
}

/// Adds gradients as outputs before clipping or weight decay changes them.
LogicalResult Compilation::addOutputs(ModuleOp module,
                                      llvm::StringRef startAfter) const {
  if (failed(runStages(module, "gradients", {}, startAfter)))
    return mlir::failure();
  for (ProgramOp program : module.getOps<ProgramOp>())
    if (GraphOp train = program.getGraph(well_known::kTrain)) {
      if (request_.wanted.nodeOutputs)
        addNodeOutputs(train);
      addGradientOutputs(train);
    }
  return success();
}

absl::StatusOr<std::vector<Comparison>>
Compilation::compare(const std::vector<Weight> &inputs,
                     const std::vector<OutputValues> &compiled, bool explains) {
  if (failed(addOutputs(module(), startAfter())))
    return diagnostics_.error("does not compile");
  for (ProgramOp program : module().getOps<ProgramOp>())
    if (GraphOp train = program.getGraph(well_known::kTrain)) {
      auto comparisons =
          compareStep(program, train, inputs, compiled, explains);
      if (!comparisons.ok() && diagnostics_.hasErrors())
        return diagnostics_.error("");
      return comparisons;
    }
  return invalid(request_.model, ": has no graph @train");
}

/// Writes the artifact to the destination of the request.
absl::Status Compilation::write(const CompileOptions &chosen, Result &result) {
  if (!request_.wanted.write) {
    auto artifact = compileProgram(module(), chosen);
    if (!artifact)
      return failure(artifact.takeError());
    result.artifact = std::move(*artifact);
    return absl::OkStatus();
  }
  absl::Status written;
  auto sink = [&](uint64_t offset, ArrayRef<char> bytes) {
    written = request_.wanted.write(offset, {bytes.data(), bytes.size()});
    return written.ok();
  };
  llvm::Error error = compileProgram(module(), chosen, sink);
  if (written.ok())
    return error ? failure(std::move(error)) : absl::OkStatus();
  llvm::consumeError(std::move(error));
  return written;
}

/// Only models of ONNX name modules. A report has the nodes' own names where
/// the file cannot be read again: that is no reason to lose the artifact.
void Compilation::addModules(Trace &trace) const {
  if (request_.bytes || !isOnnx(request_))
    return;
  if (auto modules = modulesOfOnnx(request_.model); modules.ok())
    trace.modules = *std::move(modules);
}

absl::Status Compilation::makeArtifact(Result &result) {
  std::optional<PassTrace> trace;
  CompileOptions chosen = options();
  RateCourse rates;
  if (request_.wanted.trace) {
    for (ProgramOp program : module().getOps<ProgramOp>())
      rates = learningRates(program);
    trace.emplace(context_);
    chosen.watcher = &*trace;
  }
  if (absl::Status status = write(chosen, result); !status.ok())
    return status;
  if (trace)
    result.trace = trace->trace();
  result.trace.learningRate = std::move(rates);
  if (request_.wanted.trace)
    addModules(result.trace);
  return absl::OkStatus();
}

absl::StatusOr<Result> Compilation::compile() {
  if (absl::Status status = checkStage(); !status.ok())
    return status;
  absl::StatusOr<std::string> text =
      request_.wanted.report ? report() : std::string();
  if (!text.ok())
    return text.status();
  absl::StatusOr<Result> result = Result();
  if (!request_.wanted.stopAfter.empty())
    result = stop();
  else if (absl::Status status = makeArtifact(*result); !status.ok())
    return status;
  if (result.ok()) {
    result->report = *text;
    result->warnings = diagnostics_.warnings();
  }
  return result;
}

/// Checks the targets before the model is read, which may take long and has no
/// part in the mistake.
absl::Status checkTargets(const Request &request) {
  std::vector<std::string> names = request.plan.targets;
  if (names.empty())
    names = {"cpu"};
  auto targets =
      findTargets(names, {request.plan.libraries, request.plan.epilogues});
  if (!targets)
    return invalid(llvm::toString(targets.takeError()));
  auto needsToolkit = [](const Target &target) {
    const auto *gpu = std::get_if<GpuTarget>(&target.code);
    return gpu && !gpu->architectures.empty();
  };
  if (request.wanted.stopAfter.empty() && llvm::any_of(*targets, needsToolkit))
    if (auto toolkit = cudaToolkit(); !toolkit)
      return invalid(llvm::toString(toolkit.takeError()));
  return absl::OkStatus();
}

/// Exports the program that an artifact carries.
absl::StatusOr<ExportedOnnx>
exportCarried(const ExportRequest &request,
              const std::vector<TrainedTensor> &trained,
              const ExportOptions &options) {
  Request artifact;
  artifact.model = request.model;
  artifact.carried = request.carried;
  artifact.plugins = request.plugins;
  Compilation compilation(artifact);
  if (absl::Status status = compilation.read(); !status.ok())
    return status;
  auto program = *compilation.module().getOps<ProgramOp>().begin();
  auto exported = exportProgram(program, trained, options);
  return exported.ok() ? exported : at(exported.status(), request.model);
}

class Library final : public Compiler {
public:
  absl::StatusOr<Result> compile(const Request &request) override {
    if (absl::Status status = checkTargets(request); !status.ok())
      return status;
    Compilation compilation(request);
    if (absl::Status status = compilation.read(); !status.ok())
      return status;
    if (absl::Status status = compilation.readBasis(); !status.ok())
      return status;
    return compilation.compile();
  }

  absl::StatusOr<ModelInfo> inspect(const Request &request) override {
    Request withZeros = request; // missing data is reported, not an error
    if (request.weights.values.empty() && request.weights.rule.empty())
      withZeros.weights.rule = "zeros";
    Compilation compilation(withZeros);
    ModelInfo info;
    absl::Status status = compilation.read();
    if (status.ok())
      for (ProgramOp program : compilation.module().getOps<ProgramOp>())
        info = modelInfo(program);
    else if (ModelInfo told; isOfKind(status, ErrorKind::unknownSizes) &&
                             addInventory(request, told).ok() &&
                             !told.unknownSizes.empty())
      return told;
    else if (isOfKind(status, ErrorKind::unsupported))
      info.unsupported = std::string(status.message());
    else
      return status;
    info.warnings = compilation.warnings();
    status = addInventory(request, info);
    return status.ok() ? absl::StatusOr<ModelInfo>(info) : status;
  }

  std::vector<OnnxOp> onnxOps() override {
    std::vector<OnnxOp> all;
    for (const SupportedOp &op : supportedOps())
      all.push_back({op.name, op.since, op.newest, op.gradient, op.refused,
                     op.ignored, op.devices});
    return all;
  }

  absl::StatusOr<std::vector<Comparison>>
  compare(const Request &request, const std::vector<Weight> &inputs,
          const std::vector<OutputValues> &compiled, bool explains) override {
    Compilation compilation(request);
    if (absl::Status status = compilation.read(); !status.ok())
      return status;
    if (absl::Status status = compilation.readBasis(); !status.ok())
      return status;
    return compilation.compare(inputs, compiled, explains);
  }

  absl::StatusOr<Exported> exportModel(const ExportRequest &request) override {
    std::vector<TrainedTensor> trained;
    for (const Weight &weight : request.weights)
      trained.push_back(
          {weight.name, weight.dtype, weight.shape, weight.bytes});
    ExportOptions options;
    options.inference = request.inference;
    for (const InputNormalization &each : request.normalizations)
      options.normalizations.push_back({each.input, each.mean, each.std});
    options.withNormalization = request.withNormalization;
    options.dataName = request.dataName;
    options.dims = request.dims;
    auto exported = request.carried
                        ? exportCarried(request, trained, options)
                        : exportOnnx(request.model, trained, options);
    if (!exported.ok())
      return exported.status();
    return Exported{exported->model, exported->data, exported->written,
                    exported->kept,  exported->read, exported->wantNormalized};
  }

  std::string recipeSchema() override { return recipe::schema(); }

  std::vector<RecipeFlag> recipeFlags() override {
    std::vector<RecipeFlag> all;
    for (const recipe::Flag &flag : recipe::flags())
      all.push_back({flag.name, flag.help, flag.form});
    return all;
  }

  absl::StatusOr<CheckedRecipe> readRecipe(const Request &request) override {
    if (absl::Status status = loadPlugins(request.plugins); !status.ok())
      return status;
    auto recipe = compiler::readRecipe(request);
    if (!recipe.ok())
      return recipe.status();
    return CheckedRecipe{recipe->json, recipe->remarks};
  }

  absl::Status loadPlugins(const std::vector<std::string> &paths) override {
    return compiler::loadPlugins(paths);
  }
};

} // namespace

Compiler &compiler() {
  static Library library;
  return library;
}

} // namespace gradus::compiler

extern "C" __attribute__((visibility("default"))) gradus::compiler::Compiler *
gradus_compiler() {
  gradus::compiler::exitWhereMemoryEnds();
  return &gradus::compiler::compiler();
}

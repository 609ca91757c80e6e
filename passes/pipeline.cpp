// The order in which a training step is built. Read this file first.

#include "passes/passes.h"
#include "recipe/nearest.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gradus;

namespace {

struct Stage {
  llvm::StringRef name;
  void (*addPasses)(OpPassManager &program);
};

/// Methods that exclude each other. All others can be combined, and
/// tests/end_to_end/combinations_test.cpp has a case for each pair.
const Exclusion excluded[] = {
    {"less_bn", "freeze_batch_norm",
     "a model whose normalizations are taken out is trained from the start, "
     "and fixed statistics are for one that is trained already"},
    {"dim_reduce", "gradient_freeze",
     "its directions move all trained parameters in each step"},
    {"dim_reduce", "precondition",
     "its steps follow from gradients of the loss, and a preconditioned "
     "gradient is none"},
};

/// Each pass runs on programs; the reason for a pass stands above its line.
const Stage stages[] = {
    {"model",
     [](OpPassManager &program) {
       // Check first, before anything changes.
       program.addPass(createCheckCombinations());
       // No later pass needs to know what it makes of no elements.
       program.addPass(createFoldEmpty());
       // Fold the shape arithmetic that exporters leave behind.
       program.addPass(createCanonicalizerPass());
       // Change whole layers of the model before other graphs are derived.
       program.addPass(createLessBn());
       program.addPass(createFcToFn());
     }},
    // Find what is computed as one op, or in 16 bits. The artifact has the
    // program as it was before.
    {"recognition",
     [](OpPassManager &program) {
       // Before autodiff: the gradient then needs no stored probabilities.
       program.addPass(createRecognizeAttention());
       // One op stores only its input, which may be narrow.
       program.addPass(createRecognizeGelu());
       // Remove transposes that cancel each other.
       program.addPass(createCanonicalizerPass());
       // Whole ops tell what may be rounded; gradients follow the types.
       program.addPass(createMixedPrecision());
     }},
    {"gradients",
     [](OpPassManager &program) {
       // Derive a graph to train and one to evaluate from the model.
       program.addPass(createTrainingStep());
       // Differentiation must include the batch statistics.
       program.addPass(createTrainBatchNorm());
       // The dropout mask is a constant to the gradients.
       program.addPass(createTrainDropout());
       // Autodiff reads off the values where gradients change their scale.
       program.addPass(createLossScaleBorders());
       // Every trained parameter has a gradient from here on.
       program.addPass(createAutodiff());
     }},
    // Methods on one machine's gradients: curvature, freezing, loss scale,
    // accumulation.
    {"local",
     [](OpPassManager &program) {
       // Both sides of a layer are still the operands of its gradient.
       program.addPass(createTraceFactors());
       // Freezing makes cuts of the step that measures nothing.
       program.addPass(createRefreshVariants());
       // Add variants with fewer updates before passes on all gradients.
       program.addPass(createGradientFreeze());
       // Unscale gradients for all later passes; an overflow skips the step.
       program.addPass(createLossScale());
       // Accumulate before passes that should run once per update.
       program.addPass(createGradientAccumulation());
     }},
    // Make gradients the mean over all machines.
    {"distribution",
     [](OpPassManager &program) {
       // Later passes see gradients of the samples of all ranks.
       program.addPass(createDataParallel());
       // Data_parallel has left these gradients alone: they are not summed.
       program.addPass(createAdasum());
       // Gradients are all that is large enough to be worth fewer bits.
       program.addPass(createHalfReduce());
       // Or send a part of each, and keep the rest.
       program.addPass(createSparseReduce());
     }},
    // Methods on final gradients: clipping, weight decay, centralization.
    {"methods",
     [](OpPassManager &program) {
       // Report gradients of the loss before clipping.
       program.addPass(createStepMetrics());
       // Clipping and decay see directions; curvature is of the loss alone.
       program.addPass(createPrecondition({"before_clip"}));
       // The whole gradient has a part in the subspace; the rest is passed on.
       program.addPass(createDimReduce());
       // Clip gradients of the loss, before weight decay adds to them.
       program.addPass(createClipGradients({"clip"}));
       // Center gradients of the loss.
       program.addPass(createGradientCentralization({"before_weight_decay"}));
       // Add decay to gradients for optimizers like sgd.
       program.addPass(createWeightDecay());
       // Or center gradients with decay, if the recipe says so.
       program.addPass(createGradientCentralization({"after_weight_decay"}));
       // Or give the optimizer directions of the loss with its decay.
       program.addPass(createPrecondition({"after_weight_decay"}));
       // Bound what the optimizer gets, whatever it is made of.
       program.addPass(createClipGradients({"clip_update"}));
     }},
    {"update",
     [](OpPassManager &program) {
       // Turn all updates into arithmetic and writes.
       program.addPass(createExpandOptimizer());
       // Ranks that train on their own meet behind their updates.
       program.addPass(createLocalSteps());
       // Or share a part of the parameters in each update.
       program.addPass(createPartialReduce());
       // Whatever follows the parameters follows those that all ranks have.
       program.addPass(createAdasumWeights());
       // Pull back the parameters that the optimizer has written.
       program.addPass(createLookahead());
       // Average the parameters that are written at last.
       program.addPass(createAverageWeights());
       // All writes exist now, so a guard can cover them all.
       program.addPass(createExpandGuards());
       // The new weights are known: round each once, for all its users.
       program.addPass(createStoreRoundedWeights());
       // All of an update is arithmetic by now: share it out among ranks.
       program.addPass(createShardUpdate());
     }},
    {"optimize",
     [](OpPassManager &program) {
       // No later pass needs a loss as one op.
       program.addPass(createDecompose());
       // Gradients are whole, so masks behind max pools can move before them.
       program.addPass(createMaskPooled());
       // Remove redundant ops; fusion needs one op per value.
       program.addPass(createCanonicalizerPass());
       program.addPass(createCSEPass());
       // Merged values fold further; dead reads vanish.
       program.addPass(createCanonicalizerPass());
       // All inverses are there, and ranks have equal ones: deal them out.
       program.addPass(createDealInverses());
       // All that ranks share and write is there.
       program.addPass(createCheckRanks());
       // Nothing else will be shared between ranks: join what travels.
       program.addPass(createBucketCollectives());
       // The step is complete: divide it into turns of a process's ranks.
       program.addPass(createLogicalRanks());
     }},
};

struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> stopAfter{*this, "stop-after",
                                llvm::cl::desc("The last stage to run")};
};

} // namespace

llvm::ArrayRef<llvm::StringRef> gradus::trainingStages() {
  static const auto names = [] {
    SmallVector<StringRef> names;
    for (const Stage &stage : stages)
      names.push_back(stage.name);
    return names;
  }();
  return names;
}

std::vector<std::string> gradus::pipelinePasses() {
  OpPassManager program(ProgramOp::getOperationName());
  for (const Stage &stage : stages)
    stage.addPasses(program);
  std::vector<std::string> names;
  for (Pass &pass : program.getPasses())
    names.push_back(pass.getArgument().str());
  return names;
}

llvm::ArrayRef<Exclusion> gradus::exclusions() { return excluded; }

void gradus::buildTrainingPipeline(OpPassManager &manager,
                                   const TrainingOptions &options,
                                   const StageAdded &added) {
  OpPassManager &program = manager.nest<ProgramOp>();
  const Stage *begin = llvm::find_if(stages, [&](const Stage &stage) {
    return stage.name == options.startAfter;
  });
  begin = begin == std::end(stages) ? stages : begin + 1;
  if (!options.stopAfter.empty() && options.stopAfter == options.startAfter)
    return;
  for (const Stage &stage : llvm::make_range(begin, std::end(stages))) {
    stage.addPasses(program);
    // Passes that the recipe adds see all changes of the stage.
    program.addPass(createAddedPasses({stage.name.str()}));
    if (added)
      added(stage.name, program);
    if (stage.name == options.stopAfter)
      return;
  }
}

std::string gradus::unknownStage(StringRef name, ArrayRef<StringRef> stages) {
  StringRef meant = nearest(name, stages);
  return ("unknown stage \"" + name + "\"" +
          (meant.empty() ? "" : "; did you mean \"" + meant + "\"?") +
          "; there are " + llvm::join(stages, ", "))
      .str();
}

void gradus::registerStages(
    StringRef name, StringRef summary, ArrayRef<StringRef> stages,
    std::function<void(OpPassManager &manager, StringRef last)> build) {
  using OnError = llvm::function_ref<LogicalResult(const Twine &)>;
  mlir::registerPassPipeline(
      name, summary,
      [=](OpPassManager &manager, StringRef text, OnError fail) {
        PipelineOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        StringRef last = options.stopAfter;
        if (!last.empty() && !llvm::is_contained(stages, last))
          return fail("stop-after: " + unknownStage(last, stages));
        build(manager, last);
        return success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> show) {
        show(PipelineOptions());
      });
}

namespace gradus {
#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"
} // namespace gradus

void gradus::registerPasses() {
  registerGradusPasses();
  registerStages("training",
                 "Turns a model and its recipe into one training step",
                 trainingStages(), [](OpPassManager &manager, StringRef last) {
                   buildTrainingPipeline(manager, {last.str(), ""});
                 });
}

// The order in which a training step is built. Read this file first.

#include "passes/passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace gradus;

namespace {

struct Stage {
  llvm::StringRef name;
  void (*addPasses)(OpPassManager &program);
};

/// What cannot be asked for together. All other methods compose, and
/// tests/end_to_end/combinations_test.cpp has a case for each pair.
const Exclusion excluded[] = {
    {"less_bn", "freeze_batch_norm",
     "a model whose normalizations are taken out is trained from the start, "
     "and fixed statistics are for one that is trained already"},
};

/// Each pass runs on programs; the reason for a pass stands above its line.
const Stage stages[] = {
    {"model",
     [](OpPassManager &program) {
       // Before anything changes: what is asked for must go together.
       program.addPass(createCheckCombinations());
       // Fold the shape arithmetic that exporters leave behind.
       program.addPass(createCanonicalizerPass());
       // On the model's whole layers, so that all graphs made of it agree.
       program.addPass(createLessBn());
       program.addPass(createFcToFn());
       // Before gradients, which then need no probabilities of the forward.
       program.addPass(createRecognizeAttention());
       // One op is kept by its input alone, which may be narrow.
       program.addPass(createRecognizeGelu());
       // Transposes that undo each other go.
       program.addPass(createCanonicalizerPass());
       // Whole ops tell best what may be rounded; gradients follow the types.
       program.addPass(createMixedPrecision());
     }},
    {"gradients",
     [](OpPassManager &program) {
       // The model becomes a step to train and one to evaluate.
       program.addPass(createTrainingStep());
       // Batch statistics are part of the function that is differentiated.
       program.addPass(createTrainBatchNorm());
       // What is dropped is a constant to the gradients.
       program.addPass(createTrainDropout());
       // From here on every trained parameter has a gradient.
       program.addPass(createAutodiff());
     }},
    // Methods on one machine's gradients: freezing, loss scale, accumulation.
    {"local",
     [](OpPassManager &program) {
       // Variants that update less, before anything asks for all gradients.
       program.addPass(createGradientFreeze());
       // True gradients from here on; an overflow will hold the step back.
       program.addPass(createLossScale());
       // Sums over batches before anything costs time once per update.
       program.addPass(createGradientAccumulation());
     }},
    // Gradients become the mean over all machines.
    {"distribution",
     [](OpPassManager &program) {
       // There is one process: its gradients are the mean.
       program.addPass(createAdasum());
     }},
    // Methods on final gradients: clipping, weight decay, centralization.
    {"methods",
     [](OpPassManager &program) {
       // Reports gradients as they come out of the loss, unbounded.
       program.addPass(createStepMetrics());
       // Bounds on what the loss says, before decay says something else.
       program.addPass(createClipGradients());
       // What the loss says of each output, without its mean.
       program.addPass(createGradientCentralization({"before_weight_decay"}));
       // Gradients with decay are what optimizers like sgd take.
       program.addPass(createWeightDecay());
       // The same with the decay in it, where the recipe wants that.
       program.addPass(createGradientCentralization({"after_weight_decay"}));
     }},
    {"update",
     [](OpPassManager &program) {
       // No update is left after this: only arithmetic and writes.
       program.addPass(createExpandOptimizer());
       // Averages what the optimizer has just written.
       program.addPass(createAverageWeights());
       // Every write is there now, so a guard can hold them all back.
       program.addPass(createExpandGuards());
       // What weights become is known: round it once, for all that read it.
       program.addPass(createStoreRoundedWeights());
     }},
    {"optimize",
     [](OpPassManager &program) {
       // No pass needs to see a loss as one op any more.
       program.addPass(createDecompose());
       // Remove what the passes left behind; fusion wants one op per value.
       program.addPass(createCanonicalizerPass());
       program.addPass(createCSEPass());
       // Equal values, now one, fold further; dead reads vanish.
       program.addPass(createCanonicalizerPass());
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
  for (const Stage &stage : stages) {
    stage.addPasses(program);
    // What the recipe adds sees all that the stage has made.
    program.addPass(createAddedPasses({stage.name.str()}));
    if (added)
      added(stage.name, program);
    if (stage.name == options.stopAfter)
      return;
  }
}

namespace gradus {
#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"
} // namespace gradus

void gradus::registerPasses() {
  registerGradusPasses();
  PassPipelineRegistration<PipelineOptions>(
      "training", "Turns a model and its recipe into one training step",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildTrainingPipeline(manager, {options.stopAfter});
      });
}

// Gives @train the metrics that are of the step and not of the model: the
// gradient's norm, the learning rate, the loss scale.
//
// Runs when gradients are final and before they are clipped. What accumulates
// gradients is a variant of @train and has the same outputs.

#include "passes/clock.h"
#include "passes/distribution/adasum.h"
#include "passes/loss_scale_groups.h"
#include "passes/methods/gradient_norm.h"
#include "passes/model/losses.h"
#include "passes/optimizers/parameters.h"
#include "passes/optimizers/schedules.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_STEPMETRICS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kAccumulated = "accumulation/gradient/";

/// Returns what updates take, or what was added up for them so far.
SmallVector<std::pair<Location, Value>> gradientsOf(GraphOp graph) {
  SmallVector<std::pair<Location, Value>> gradients;
  Block &block = graph.getBody().front();
  for (auto update : block.getOps<ParameterUpdate>())
    gradients.emplace_back(update.getLoc(), update.getGradientUse().get());
  if (gradients.empty())
    for (auto write : block.getOps<WriteOp>())
      if (write.getState().starts_with(kAccumulated))
        gradients.emplace_back(write.getLoc(), write.getValue());
  return gradients;
}

WriteOp writeOf(GraphOp graph, StringRef state) {
  for (auto write : graph.getBody().front().getOps<WriteOp>())
    if (write.getState() == state)
      return write;
  return {};
}

struct StepMetricsPass : impl::StepMetricsBase<StepMetricsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<GraphOp> graphs = trainGraphs(getOperation());
    llvm::append_range(graphs, graphsThat(kAccumulates, getOperation()));
    for (GraphOp graph : graphs)
      if (!gradientsOf(graph).empty() && failed(addTo(graph)))
        return signalPassFailure();
  }

  LogicalResult addTo(GraphOp graph) {
    std::vector<std::string> metrics = metricsOf(getOperation());
    if (llvm::is_contained(metrics, "gradient_norm"))
      add(graph, "gradient_norm", std::mem_fn(&StepMetricsPass::gradientNorm));
    if (llvm::is_contained(metrics, "learning_rate"))
      add(graph, "learning_rate", std::mem_fn(&StepMetricsPass::learningRate));
    if (auto groups = ScaleGroups::of(getOperation()))
      for (size_t group = 0; group < groups->size(); ++group)
        add(graph, groupScaleName(group),
            [&](StepMetricsPass &, OpBuilder &builder, GraphOp graph) {
              return groups->read(builder, graph.getLoc(), group);
            });
    else if (gradus::lossScale().of(getOperation()))
      add(graph, well_known::kLossScale,
          std::mem_fn(&StepMetricsPass::lossScale));
    if (skipsSteps(getOperation()))
      add(graph, well_known::kSkippedSteps,
          std::mem_fn(&StepMetricsPass::skippedSteps));
    return success();
  }

  using Metric =
      llvm::function_ref<Value(StepMetricsPass &, OpBuilder &, GraphOp)>;

  /// Adds an output, unless the graph has one of the name.
  void add(GraphOp graph, StringRef name, Metric metric) {
    for (unsigned i = 0; i < graph.getReturned().size(); ++i)
      if (graph.getOutputName(i) == name)
        return;
    OpBuilder builder(graph.getBody().front().getTerminator());
    Value value = metric(*this, builder, graph);
    if (!value)
      return;
    graph.addOutput(name, value);
    remark::passed(graph.getLoc(),
                   remark::RemarkOpts::name("Metric").category(getArgument()))
        << "@" << graph.getSymName() << " gives " << name;
  }

  /// The norm of gradients; where AdaSum combines weights, the root of the mean
  /// of its squares over ranks, so that all see one that is not finite. Where
  /// ranks train weights of their own it is the rank's own.
  Value gradientNorm(OpBuilder &builder, GraphOp graph) {
    Arithmetic math(builder, graph.getLoc());
    Value squares = sumOfAllSquares(builder, gradientsOf(graph));
    if (isByAdasum(distributionOf(getOperation()), AdasumOf::weights) &&
        !graph.getBody().front().getOps<ParameterUpdate>().empty()) {
      Value ranks = readRanks(builder, graph.getLoc(), getOperation());
      if (!ranks)
        return {};
      squares = meanOverRanks(math, squares, ranks);
    }
    return math.squareRoot(squares);
  }

  /// The learning rate of the recipe's optimizer. Groups may have others.
  Value learningRate(OpBuilder &builder, GraphOp graph) {
    Arithmetic math(builder, graph.getLoc());
    auto clock = readClock(builder, graph.getLoc(), getOperation());
    if (failed(clock))
      return {};
    auto schedules = Schedules::read(math, getOperation(), clock->step);
    if (failed(schedules))
      return {};
    auto settings = optimizerOfRecipe(getOperation()).as<OptimizerSettings>();
    Value rate = readNumber(builder, graph.getLoc(), getOperation(),
                            settings.learningRate);
    if (!rate)
      return {};
    if (Value factor = schedules->factorOf("learning_rate"))
      rate = math.multiply(factor, rate);
    return convert(builder, graph.getLoc(), rate, builder.getF32Type());
  }

  /// The one that this step multiplied by.
  Value lossScale(OpBuilder &builder, GraphOp graph) {
    auto type = RankedTensorType::get({}, builder.getF32Type());
    if (getOperation().getState(well_known::kLossScale))
      return readState(builder, graph.getLoc(), well_known::kLossScale, type);
    return splat(builder, graph.getLoc(), type,
                 gradus::lossScale().of(getOperation())->initial);
  }

  /// Counts the skipped steps up to this one, itself included.
  Value skippedSteps(OpBuilder &, GraphOp graph) {
    WriteOp write = writeOf(graph, well_known::kSkippedSteps);
    return write ? write.getValue() : Value();
  }
};

} // namespace
} // namespace gradus

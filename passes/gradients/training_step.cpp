// Makes the graphs @train and @evaluate of the model and the recipe's loss.
//
// The first pass that reads the recipe: it joins what the user asked for with
// the model's outputs. Autodiff follows.

#include "ir/build.h"
#include "passes/distribution.h"
#include "passes/model/losses.h"
#include "passes/model/shared_counts.h"
#include "passes/model/top_classes.h"
#include "passes/passes.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

namespace gradus {
#define GEN_PASS_DEF_TRAININGSTEP
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Names what the pass adds, so that errors and profiles can.
Location named(GraphOp graph, StringRef name) {
  return NameLoc::get(StringAttr::get(graph.getContext(), name),
                      graph.getLoc());
}

/// The graph's input of this name; a new one if there is none.
Value findOrAddInput(GraphOp graph, StringRef name, Type type) {
  for (unsigned i = 0; i < graph.getArgumentTypes().size(); ++i)
    if (graph.getInputName(i) == name)
      return graph.getBody().getArgument(i);
  return graph.addInput(name, type, named(graph, name));
}

/// A loss in a graph that ends in it.
struct PlacedLoss {
  const Loss &loss;
  Value output, label; // label: null if the loss has none
};

struct TrainingStepPass : impl::TrainingStepBase<TrainingStepPass> {
  using Base::Base;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (!hasLoss(program) || program.getGraph(well_known::kTrain))
      return;
    GraphOp model = program.getGraph(well_known::kPredict);
    if (!model) {
      program.emitError("has no graph @predict to train");
      return signalPassFailure();
    }
    FailureOr<std::vector<Loss>> read = readLosses(program, model);
    if (failed(read))
      return signalPassFailure();
    losses = std::move(*read);
    if (failed(checkCount(model)) || failed(checkMetrics()))
      return signalPassFailure();
    GraphOp train = cloneModel(model, well_known::kTrain);
    if (failed(readRanks(train)))
      return signalPassFailure();
    endInLoss(train, /*padded=*/false);
    ranks = {};
    endInLoss(cloneModel(model, well_known::kEvaluate), masksPadding());
    report(train);
  }

  /// Reads the number of ranks where several share a loss.
  LogicalResult readRanks(GraphOp train) {
    DistributionSettings settings = distributionOf(getOperation());
    if (settings.mode == DistributionMode::none ||
        settings.reduce == ReduceType::local)
      return success();
    OpBuilder builder = OpBuilder::atBlockBegin(&train.getBody().front());
    // Its own weights follow the loss of a rank's own labels.
    ranks.haveOwnWeights = settings.hasOwnWeights();
    ranks.mean = ranks.haveOwnWeights ? LossMean::rank : settings.lossMean;
    ranks.inTurn = settings.logicalRanks.has_value();
    ranks.count =
        gradus::readRanks(builder, named(train, "loss"), getOperation());
    bool computesLoss = llvm::any_of(
        losses, [](const Loss &loss) { return loss.labels() == Labels::none; });
    if (ranks.count && computesLoss && ranks.mean == LossMean::global)
      shareCounts(train, ranks.count);
    return success(bool(ranks.count));
  }

  /// Whether @evaluate can leave padding out. It cannot if the model itself
  /// makes one number of several samples.
  bool masksPadding() const {
    return llvm::all_of(losses,
                        [](const Loss &loss) { return loss.masksPadding(); });
  }

  /// The name that @evaluate adds must be free.
  LogicalResult checkCount(GraphOp model) {
    for (unsigned i = 0; i < model.getArgumentTypes().size(); ++i)
      if (masksPadding() && model.getInputName(i) == "count")
        return model.emitError("has an input named \"count\", the name of an "
                               "input that training adds; rename the model's");
    for (const Loss &loss : losses)
      if (masksPadding() && loss.label == "count")
        return loss.error("label")
               << "is \"count\", the name of an input that training adds; "
                  "choose another";
    return success();
  }

  LogicalResult checkMetrics() {
    metrics = metricsOf(getOperation());
    for (const std::string &metric : metrics) {
      if (metric != "accuracy" && metric != "top5")
        continue; // of the step: the pass step-metrics
      if (llvm::none_of(losses, [](const Loss &loss) {
            return loss.labels() == Labels::classes;
          }))
        return recipe::keyError(getOperation(), metricsKey().key)
               << "has " << metric
               << ", which needs labels that are classes, but "
               << "loss.type is " << typeOfLoss();
      if (metric == "top5" && llvm::all_of(losses, [](const Loss &loss) {
            return loss.labels() != Labels::classes || loss.classes() <= 5;
          }))
        (void)(recipe::keyWarning(getOperation(), metricsKey().key)
               << "has top5, which is always 1 where there are no more than "
                  "five classes");
    }
    return success();
  }

  StringRef typeOfLoss() {
    return losses.size() == 1 ? losses.front().typeName() : "sum";
  }

  GraphOp cloneModel(GraphOp model, StringRef name) {
    OpBuilder builder(getOperation().getBody().front().getParentOp());
    builder.setInsertionPointToEnd(&getOperation().getBody().front());
    auto graph = cast<GraphOp>(builder.clone(*model));
    graph.setSymName(name);
    return graph;
  }

  /// Replaces the graph's outputs by the loss and the metrics.
  void endInLoss(GraphOp graph, bool padded) {
    std::vector<PlacedLoss> placed = place(graph);
    OpBuilder builder(graph.getBody().front().getTerminator());
    Location loc = named(graph, "loss");
    Value count;
    if (padded) {
      auto type = RankedTensorType::get({}, builder.getI64Type());
      count = graph.addInput("count", type, named(graph, "count"));
      for (PlacedLoss &each : placed)
        each.label = maskLabels(builder, loc, each.loss, each.label, count);
    }
    Value total;
    for (const PlacedLoss &each : placed) {
      Value value = buildLoss(builder, loc, each.loss, each.output, each.label,
                              count, ranks);
      total = total ? addTo(builder, loc, total, value) : value;
    }
    dropOutputs(graph);
    graph.addOutput(well_known::kLoss, total);
    for (const std::string &metric : metrics)
      if (metric == "accuracy" || metric == "top5")
        addAccuracies(graph, placed, metric);
  }

  /// The losses with their values in the graph, which gets an input for each
  /// label.
  std::vector<PlacedLoss> place(GraphOp graph) {
    std::vector<PlacedLoss> placed;
    for (const Loss &loss : losses) {
      Value label;
      if (loss.labels() != Labels::none)
        label = findOrAddInput(graph, loss.label, loss.labelType());
      placed.push_back({loss, graph.getReturned()[loss.output], label});
    }
    return placed;
  }

  /// Adds in the type of the first.
  static Value addTo(OpBuilder &builder, Location loc, Value total,
                     Value value) {
    Type element = tensorType(total).getElementType();
    return arith::AddFOp::create(builder, loc, total,
                                 convert(builder, loc, value, element));
  }

  /// One for each output with classes, under its name if there are several.
  void addAccuracies(GraphOp graph, ArrayRef<PlacedLoss> placed,
                     const std::string &metric) {
    std::map<std::string, const PlacedLoss *> byOutput;
    for (const PlacedLoss &each : placed)
      if (each.loss.labels() == Labels::classes)
        byOutput.insert({each.loss.outputName, &each});
    for (auto [output, scored] : byOutput) {
      std::string name = byOutput.size() == 1 ? metric : output + "_" + metric;
      Value mean = metric == "top5" ? buildTopFive(graph, name, *scored)
                                    : buildAccuracy(graph, name, *scored);
      if (ranks.count) {
        OpBuilder builder(graph.getBody().front().getTerminator());
        mean = shareMean(builder, named(graph, name), scored->loss,
                         scored->label, mean, ranks);
      }
      graph.addOutput(name, mean);
    }
  }

  static Value buildAccuracy(GraphOp graph, StringRef name,
                             const PlacedLoss &each) {
    OpBuilder builder(graph.getBody().front().getTerminator());
    return AccuracyOp::create(
        builder, named(graph, name),
        RankedTensorType::get({}, builder.getF32Type()), each.output,
        each.label, builder.getI64IntegerAttr(each.loss.classAxis),
        builder.getI64IntegerAttr(each.loss.settings.ignoreIndex));
  }

  static Value buildTopFive(GraphOp graph, StringRef name,
                            const PlacedLoss &each) {
    OpBuilder builder(graph.getBody().front().getTerminator());
    return buildTopClasses(builder, named(graph, name), each.output, each.label,
                           each.loss.classAxis, each.loss.settings.ignoreIndex,
                           /*count=*/5);
  }

  /// Forgets the model's outputs; what only they needed dies in the clean-up.
  static void dropOutputs(GraphOp graph) {
    graph.getBody().front().getTerminator()->setOperands({});
    Builder builder(graph.getContext());
    graph.setFunctionType(
        builder.getFunctionType(graph.getArgumentTypes(), {}));
    graph.setOutputNamesAttr(builder.getArrayAttr({}));
    graph.removeResAttrsAttr();
  }

  void report(GraphOp train) {
    std::string types = llvm::join(
        llvm::map_range(losses,
                        [](const Loss &loss) { return loss.typeName(); }),
        " + ");
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("TrainingStep").category(getArgument()))
        << "@train and @evaluate end in " << types;
  }

  std::vector<Loss> losses;
  std::vector<std::string> metrics;
  LossRanks ranks; // of @train
};

} // namespace
} // namespace gradus

// Trains only some of the parameters in some of the steps: the last layers,
// drawn or in turn, or those that the recipe names by hand.
//
// The first pass on gradients: a step that trains fewer parameters is a variant
// of @train without some updates, from which dead code elimination removes
// parts of the backward pass. All later passes treat each variant like @train.
// The next variant follows from a table or from the number of the update.

#include "passes/local/gradient_freeze.h"

#include "ir/build.h"
#include "ir/philox.h"
#include "ir/scalar_ops.h"
#include "passes/local/freeze_by_hand.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"
#include "passes/step_variants.h"
#include "recipe/run_settings.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace gradus {
#define GEN_PASS_DEF_GRADIENTFREEZE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// A cut has this before its number in its graph's name.
constexpr StringLiteral kCutPrefix = "train_cut";

struct GradientFreezePass : impl::GradientFreezeBase<GradientFreezePass> {
  using Base::Base;

  void runOnOperation() override {
    auto settings = gradientFreeze().of(getOperation());
    GraphOp train = getOperation().getGraph(well_known::kTrain);
    if (!train || !settings || isDone())
      return;
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    updates_.assign(range.begin(), range.end());
    if (!updates_.empty() && failed(freeze(train, *settings)))
      signalPassFailure();
  }

private:
  bool isDone() {
    return llvm::any_of(trainGraphs(getOperation()), [](GraphOp graph) {
      return graph.getSymName().starts_with(kCutPrefix);
    });
  }

  LogicalResult freeze(GraphOp train, const FreezeSettings &settings) {
    if (settings.isByHand())
      return freezeByHand(train, settings);
    FreezeSchedule schedule = {settings.groups, settings.type, settings.p,
                               settings.totalSteps, settings.asMindSpore};
    std::vector<FrozenParameter> parameters = updatedParameters(train);
    std::vector<int64_t> cuts =
        schedule.asMindSpore
            ? freezeCutsOfMindSpore(parameters, schedule.groups)
            : freezeCuts(parameters, schedule.groups);
    if (int64_t(cuts.size()) < schedule.groups)
      recipe::keyWarning(getOperation(), "gradient_freeze.groups")
          << "is " << schedule.groups << ", but the model has only "
          << cuts.size() << " layers to begin from";
    schedule.groups = cuts.size();
    FailureOr<std::vector<int64_t>> sequence = sequenceOf(settings, schedule);
    if (failed(sequence))
      return failure();
    if (cuts.size() < 2)
      return success(); // Each step trains everything.
    for (size_t group = 1; group < cuts.size(); ++group) {
      GraphOp variant = addVariant(train, group, parameters, cuts[group]);
      if (settings.hasOwnSlots)
        keepApart(variant);
    }
    auto choose = [&](OpBuilder &builder, Value update) {
      return lookUp(builder, train.getLoc(), update, *sequence);
    };
    return addChoices(getOperation(), namesOf(cuts.size()), sequence->front(),
                      choose);
  }

  //===-- groups ----------------------------------------------------------===//

  /// Whether an op only converts a weight to the form in which it is used.
  static bool prepares(Operation *op) {
    return movesOneOperand(op) || changesWidth(op);
  }

  /// The number of the first op that computes with a value.
  static int64_t firstUse(Value value,
                          const DenseMap<Operation *, int64_t> &positions) {
    int64_t first = positions.size();
    for (Operation *user : value.getUsers())
      first = std::min(first, prepares(user)
                                  ? firstUse(user->getResult(0), positions)
                                  : positions.lookup(user));
    return first;
  }

  /// The number of the first op that computes with each parameter.
  static llvm::StringMap<int64_t> firstUses(GraphOp train) {
    DenseMap<Operation *, int64_t> positions;
    for (Operation &op : train.getBody().front())
      positions.try_emplace(&op, positions.size());
    llvm::StringMap<int64_t> uses;
    for (auto read : train.getBody().front().getOps<ReadOp>()) {
      int64_t use = firstUse(read.getResult(), positions);
      auto [found, isNew] = uses.try_emplace(read.getState(), use);
      found->second = std::min(found->second, use);
    }
    return uses;
  }

  /// Parameters by the first op that computes with them; equal ones stay in
  /// order.
  using Placed = std::multimap<int64_t, FrozenParameter>;

  static std::vector<FrozenParameter> inOrder(const Placed &placed) {
    std::vector<FrozenParameter> parameters;
    for (const auto &[position, parameter] : placed)
      parameters.push_back(parameter);
    return parameters;
  }

  /// The parameters that are updated, in the order of the forward pass.
  std::vector<FrozenParameter> updatedParameters(GraphOp train) {
    Placed placed;
    llvm::StringMap<int64_t> uses = firstUses(train);
    for (ParameterUpdate update : updates_) {
      std::string name = update.getParameterName().str();
      bool isWeight = tensorType(update.getGradientUse().get()).getRank() >= 2;
      placed.insert({uses.lookup(name), {name, isWeight}});
    }
    return inOrder(placed);
  }

  static GraphOp clone(GraphOp train, int64_t group) {
    return cloneVariant(train, nameOf(group), kUpdates);
  }

  /// Gives a cut slots of its own.
  static void keepApart(GraphOp variant) {
    variant->setAttr(kCut, Builder(variant.getContext())
                               .getStringAttr(suffixOf(variant.getSymName())));
  }

  /// Records in each update the steps for which its parameter was frozen before
  /// the phase; its optimizer must not count them.
  static void countRests(GraphOp graph, ArrayRef<FreezePhase> phases,
                         size_t at) {
    Builder builder(graph.getContext());
    for (auto update : graph.getBody().front().getOps<ParameterUpdate>()) {
      int64_t rested = 0;
      for (size_t phase = 0; phase < at; ++phase)
        if (phases[phase].frozen.contains(update.getParameterName().str()))
          rested += phases[phase + 1].firstStep - phases[phase].firstStep;
      if (rested > 0)
        update->setAttr(kRested, builder.getI64IntegerAttr(rested));
    }
  }

  /// Removes the updates of some parameters from a graph, and what measures
  /// their curvature.
  static void freezeIn(GraphOp graph, const std::set<std::string> &frozen) {
    for (auto factors : llvm::make_early_inc_range(
             graph.getBody().front().getOps<FactorsOp>()))
      if (frozen.contains(factors.getParameter().str()))
        factors.erase();
    for (auto update : llvm::make_early_inc_range(
             graph.getBody().front().getOps<ParameterUpdate>()))
      if (frozen.contains(update.getParameterName().str()))
        update->erase();
  }

  void report(GraphOp graph, size_t trained, size_t all, const Twine &which) {
    std::string words = (graph.getSymName() + " trains " + Twine(trained) +
                         " of " + Twine(all) + " parameters" + which)
                            .str();
    remark::passed(graph.getLoc(),
                   remark::RemarkOpts::name("Frozen").category(getArgument()))
        << words;
  }

  /// Adds a copy of the step without the updates before the cut.
  GraphOp addVariant(GraphOp train, int64_t group,
                     ArrayRef<FrozenParameter> parameters, int64_t cut) {
    GraphOp variant = clone(train, group);
    std::set<std::string> frozen;
    for (const FrozenParameter &parameter : parameters.take_front(cut))
      frozen.insert(parameter.name);
    freezeIn(variant, frozen);
    report(variant, parameters.size() - cut, parameters.size(),
           ", from " + parameters[cut].name + " on");
    return variant;
  }

  static std::string nameOf(int64_t group) {
    return group == 0 ? kTrain.str() : (kCutPrefix + Twine(group)).str();
  }

  /// The variants of `groups` groups, of which the first one is @train.
  static SmallVector<std::string> namesOf(int64_t groups) {
    SmallVector<std::string> names;
    for (int64_t group = 1; group < groups; ++group)
      names.push_back(nameOf(group));
    return names;
  }

  //===-- the schedule ----------------------------------------------------===//

  /// The recipe's own list, or the one computed from its numbers.
  FailureOr<std::vector<int64_t>> sequenceOf(const FreezeSettings &settings,
                                             const FreezeSchedule &schedule) {
    constexpr StringLiteral kStrategy = "gradient_freeze.strategy";
    if (settings.strategy) {
      for (int64_t group : *settings.strategy)
        if (group < 0 || group >= schedule.groups)
          return recipe::keyError(getOperation(), kStrategy)
                 << "names group " << group << ", but there are "
                 << schedule.groups << ", from 0 on";
      if (settings.strategy->empty())
        return recipe::keyError(getOperation(), kStrategy) << "is empty";
      return *settings.strategy;
    }
    Philox random(runSettings(getOperation()).seed, "gradient_freeze");
    uint64_t drawn = 0;
    return freezeSequence(schedule, [&] { return random.uniform(drawn++); });
  }

  /// The entry of a table, which starts again after its end. A long table is
  /// stored narrow, to keep the artifact small.
  static Value lookUp(OpBuilder &builder, Location loc, Value step,
                      ArrayRef<int64_t> sequence) {
    Value length = splatLike(builder, step, sequence.size());
    Value index = arith::RemSIOp::create(builder, loc, step, length);
    bool isNarrow =
        sequence.size() >= 256 && *llvm::max_element(sequence) < 128;
    auto type = RankedTensorType::get({int64_t(sequence.size())},
                                      isNarrow ? builder.getI8Type()
                                               : builder.getI64Type());
    SmallVector<int8_t> bytes(sequence.begin(), sequence.end());
    auto entries = isNarrow
                       ? DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))
                       : DenseElementsAttr::get(type, sequence);
    Value table = arith::ConstantOp::create(builder, loc, entries);
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value entry =
        GatherOp::create(builder, loc, scalar, table, index, /*axis=*/0);
    if (isNarrow)
      entry = arith::ExtSIOp::create(builder, loc, step.getType(), entry);
    return entry;
  }

  //===-- by hand ---------------------------------------------------------===//

  /// The parameters that could be updated, including frozen ones.
  std::vector<FrozenParameter> trainedInOrder(GraphOp train) {
    Placed placed;
    llvm::StringMap<int64_t> uses = firstUses(train);
    for (StateOp state : trainedParameters(getOperation()))
      if (auto use = uses.find(state.getSymName()); use != uses.end()) {
        bool isWeight = cast<RankedTensorType>(state.getType()).getRank() >= 2;
        placed.insert({use->second, {state.getSymName().str(), isWeight}});
      }
    return inOrder(placed);
  }

  LogicalResult freezeByHand(GraphOp train, const FreezeSettings &settings) {
    std::vector<FrozenParameter> parameters = trainedInOrder(train);
    auto phases = freezePhases(getOperation(), settings, parameters);
    if (failed(phases))
      return failure();
    SmallVector<GraphOp> graphs = trainGraphs(getOperation());
    if (phases->size() > 1 && graphs.size() > 1)
      return recipe::keyError(getOperation(), "gradient_freeze")
             << "has phases, by `from` or `until`, which exclude methods with "
                "variants of the step before it, such as precondition";
    for (size_t phase = 1; phase < phases->size(); ++phase) {
      GraphOp variant = clone(train, phase);
      freezeIn(variant, (*phases)[phase].frozen);
      countRests(variant, *phases, phase);
    }
    for (GraphOp graph : graphs)
      freezeIn(graph, phases->front().frozen);
    for (auto [group, phase] : llvm::enumerate(*phases))
      report(getOperation().getGraph(nameOf(group)),
             parameters.size() - phase.frozen.size(), parameters.size(),
             ", from step " + Twine(phase.firstStep) + " on");
    if (phases->size() == 1)
      return success();
    auto choose = [&](OpBuilder &builder, Value update) {
      return phaseOf(builder, train.getLoc(), update, *phases);
    };
    return addChoices(getOperation(), namesOf(phases->size()), 0, choose);
  }

  /// The number of the last phase that has started.
  static Value phaseOf(OpBuilder &builder, Location loc, Value step,
                       ArrayRef<FreezePhase> phases) {
    Value chosen = splatLike(builder, step, 0);
    for (size_t phase = 1; phase < phases.size(); ++phase) {
      Value hasBegun = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sge, step,
          splatLike(builder, step, phases[phase].firstStep));
      chosen = arith::SelectOp::create(builder, loc, hasBegun,
                                       splatLike(builder, step, phase), chosen);
    }
    return chosen;
  }

  SmallVector<ParameterUpdate> updates_;
};

/// The keys for groups that are drawn or in turn.
recipe::Keys<FreezeSettings> groupKeys() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Freeze = FreezeSettings;
  const Field group = Field{"", integer, "0", "a group"}.from(0);
  return {Field{"groups", integer, "10",
                "places to begin from; the first one is everything"}
              .from(1)
              .into(&Freeze::groups),
          Field{"type", integer, "1",
                "0: frozen steps come in turn; 1: they are drawn, by `seed`"}
              .from(0)
              .below(2)
              .into(&Freeze::type),
          Field{"p", number, "0.7", "part of the steps that train everything"}
              .from(0)
              .below(1)
              .into(&Freeze::p),
          Field{"total_steps", integer, "65536", "steps until it begins again"}
              .from(1)
              .below(1 << 24)
              .into(&Freeze::totalSteps),
          Field{"by_name", boolean, "false",
                "groups begin at names, as MindSpore finds layers by \"bn\" "
                "and \"bias\", and lengths are rounded as it does; else layers "
                "are shared out evenly"}
              .under({"mindspore"}, "true")
              .into(&Freeze::asMindSpore),
          Field{"own_slots", boolean, "false",
                "each group has slots of the optimizer and a count of updates "
                "of its own, as if it had an optimizer of its own"}
              .under({"mindspore"}, "true")
              .into(&Freeze::hasOwnSlots),
          Field{"strategy", list, "null",
                "the group of each step, instead of type, p and total_steps"}
              .of(recipe::Fields{group})
              .into(&Freeze::strategy)};
}

/// The keys for freezing by hand.
recipe::Keys<FreezeSettings> handKeys() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Freeze = FreezeSettings;
  const recipe::Fields step = {Field{"", integer, "0", "a step"}.from(0)};
  return {Field{"from", named, "null",
                "by names or patterns of parameters: the step from which on "
                "they rest; this, `until` and `last_layers` say by hand what "
                "rests, instead of groups that are drawn"}
              .of(step)
              .into(&Freeze::from),
          Field{"until", named, "null",
                "by names or patterns of parameters: the step before which "
                "they rest"}
              .of(step)
              .into(&Freeze::until),
          Field{"last_layers", integer, "null",
                "so many layers are trained, the others never"}
              .from(1)
              .into(&Freeze::lastLayers)};
}

recipe::Field freezeKey() {
  recipe::Fields all;
  for (const auto &keys : {groupKeys(), handKeys()})
    all.insert(all.end(), keys.begin(), keys.end());
  all.push_back(recipe::compat("instead of the recipe's"));
  return recipe::Field{"gradient_freeze", recipe::Kind::object, "null",
                       "lets a part of the steps train the last layers alone"}
      .of(all)
      .switched()
      .flagged();
}

} // namespace

const recipe::Method<FreezeSettings> &gradientFreeze() {
  static const recipe::Method<FreezeSettings> method{freezeKey()};
  return method;
}

} // namespace gradus

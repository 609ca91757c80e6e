// Lets a part of the steps train the last layers alone.
//
// The first pass on gradients: a step that trains less is a variant of @train
// without some of its updates, of which dead code elimination takes the
// backward pass away. All later passes treat each variant as they do @train.
// Which one runs next is a state that each step writes from a table.

#include "ir/build.h"
#include "ir/philox.h"
#include "passes/clock.h"
#include "passes/freeze_plan.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace gradus {
#define GEN_PASS_DEF_GRADIENTFREEZE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kState = "gradient_freeze/cut";

struct GradientFreezePass : impl::GradientFreezeBase<GradientFreezePass> {
  using Base::Base;

  void runOnOperation() override {
    RecipeObject recipe = recipeOf(getOperation());
    GraphOp train = getOperation().getGraph("train");
    if (!train || !recipe.has("gradient_freeze") ||
        getOperation().getState(kState))
      return;
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    updates.assign(range.begin(), range.end());
    ErrorWatch watch(&getContext());
    if (!updates.empty() &&
        (failed(freeze(train, recipe.object("gradient_freeze"))) ||
         watch.sawError()))
      signalPassFailure();
  }

private:
  LogicalResult freeze(GraphOp train, const RecipeObject &wish) {
    FreezeSchedule schedule = scheduleOf(wish);
    std::vector<int64_t> cuts = findCuts(train, schedule);
    if (int64_t(cuts.size()) < schedule.groups)
      wish.warning("groups")
          << "is " << schedule.groups << ", but the model has only "
          << cuts.size() << " layers to begin from";
    schedule.groups = cuts.size();
    FailureOr<std::vector<int64_t>> sequence = sequenceOf(wish, schedule);
    if (failed(sequence) || failed(chooseNext(train, *sequence)))
      return failure();
    for (size_t group = 1; group < cuts.size(); ++group)
      addVariant(train, group, cuts[group]);
    addSchedule(train, cuts.size());
    return success();
  }

  FreezeSchedule scheduleOf(const RecipeObject &wish) {
    std::string compat = recipeOf(getOperation()).text("compat", "pytorch");
    FreezeSchedule schedule;
    schedule.groups = wish.integer("groups", 10);
    schedule.type = wish.integer("type", 1);
    schedule.p = wish.number("p", 0.7);
    schedule.totalSteps = wish.integer("total_steps", 65536);
    schedule.asMindSpore = wish.text("compat", compat) == "mindspore";
    return schedule;
  }

  //===-- groups ----------------------------------------------------------===//

  /// Whether an op only brings a weight into the form that it is used in.
  static bool prepares(Operation *op) {
    return isa<arith::TruncFOp, arith::ExtFOp, ReshapeOp, TransposeOp,
               BroadcastOp, SliceOp>(op);
  }

  /// Where a value is computed with first; ops are numbered in their order.
  static int64_t firstUse(Value value,
                          const DenseMap<Operation *, int64_t> &places) {
    int64_t first = places.size();
    for (Operation *user : value.getUsers())
      first =
          std::min(first, prepares(user) ? firstUse(user->getResult(0), places)
                                         : places.lookup(user));
    return first;
  }

  /// Where each parameter is computed with first.
  static llvm::StringMap<int64_t> firstUses(GraphOp train) {
    DenseMap<Operation *, int64_t> places;
    for (Operation &op : train.getBody().front())
      places.try_emplace(&op, places.size());
    llvm::StringMap<int64_t> uses;
    for (auto read : train.getBody().front().getOps<ReadOp>()) {
      int64_t use = firstUse(read.getResult(), places);
      auto [found, isNew] = uses.try_emplace(read.getState(), use);
      found->second = std::min(found->second, use);
    }
    return uses;
  }

  /// Puts the updates in the order of the forward pass, and cuts that.
  std::vector<int64_t> findCuts(GraphOp train, const FreezeSchedule &schedule) {
    std::vector<std::pair<int64_t, ParameterUpdate>> placed;
    llvm::StringMap<int64_t> uses = firstUses(train);
    for (ParameterUpdate update : updates)
      placed.emplace_back(uses.lookup(update.getParameterName()), update);
    llvm::stable_sort(placed, llvm::less_first());
    std::vector<FrozenParameter> parameters;
    updates.clear();
    for (auto &[place, update] : placed) {
      updates.push_back(update);
      bool isWeight = tensorType(update.getGradientUse().get()).getRank() >= 2;
      parameters.push_back({update.getParameterName().str(), isWeight});
    }
    return schedule.asMindSpore
               ? freezeCutsOfMindSpore(parameters, schedule.groups)
               : freezeCuts(parameters, schedule.groups);
  }

  /// The same step without the updates before the cut.
  void addVariant(GraphOp train, int64_t group, int64_t cut) {
    OpBuilder builder(train);
    builder.setInsertionPointAfter(train);
    auto variant = cast<GraphOp>(builder.clone(*train));
    variant.setSymName(nameOf(group));
    llvm::StringSet<> frozen;
    for (int64_t i = 0; i < cut; ++i)
      frozen.insert(updates[i].getParameterName());
    for (auto update : llvm::make_early_inc_range(
             variant.getBody().front().getOps<ParameterUpdate>()))
      if (frozen.contains(update.getParameterName()))
        update->erase();
    std::string words = variant.getSymName().str() + " trains " +
                        std::to_string(updates.size() - cut) + " of " +
                        std::to_string(updates.size()) + " parameters, from " +
                        updates[cut].getParameterName().str() + " on";
    remark::passed(variant.getLoc(),
                   remark::RemarkOpts::name("Frozen").category(getArgument()))
        << words;
  }

  static std::string nameOf(int64_t group) {
    return group == 0 ? "train" : (kCutPrefix + Twine(group)).str();
  }

  //===-- the schedule ----------------------------------------------------===//

  /// The recipe's own list, or what its numbers give.
  FailureOr<std::vector<int64_t>> sequenceOf(const RecipeObject &wish,
                                             const FreezeSchedule &schedule) {
    if (wish.has("strategy")) {
      std::vector<int64_t> steps;
      for (double group : wish.numbers("strategy", {})) {
        if (group < 0 || group >= schedule.groups)
          return wish.error("strategy")
                 << "names group " << int64_t(group) << ", but there are "
                 << schedule.groups << ", from 0 on";
        steps.push_back(group);
      }
      if (steps.empty())
        return wish.error("strategy") << "is empty";
      return steps;
    }
    Philox random(recipeOf(getOperation()).integer("seed", 0),
                  "gradient_freeze");
    uint64_t drawn = 0;
    return freezeSequence(schedule, [&] { return random.uniform(drawn++); });
  }

  /// Each step writes which one is next; a step that is skipped runs again.
  LogicalResult chooseNext(GraphOp train, ArrayRef<int64_t> sequence) {
    OpBuilder builder(train.getBody().front().getTerminator());
    Location loc = train.getLoc();
    RecipeObject recipe = recipeOf(getOperation());
    auto scalar = RankedTensorType::get({}, builder.getI64Type());
    if (failed(readClock(builder, loc, getOperation())) ||
        failed(ensureState(getOperation(), kState, scalar, Role::counter,
                           sequence.front())))
      return failure();
    Value count = readState(builder, loc, countingState(recipe), scalar);
    Value one = splatLike(builder, count, 1),
          length = splatLike(builder, count, sequence.size());
    Value next = arith::AddIOp::create(builder, loc, count, one);
    next = arith::RemSIOp::create(builder, loc, next, length);
    auto type =
        RankedTensorType::get({int64_t(sequence.size())}, builder.getI64Type());
    Value table = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, sequence));
    Value chosen =
        GatherOp::create(builder, loc, scalar, table, next, /*axis=*/0);
    writeState(builder, loc, kState, chosen);
    return success();
  }

  void addSchedule(GraphOp train, int64_t groups) {
    OpBuilder builder(train);
    builder.setInsertionPointToEnd(train->getBlock());
    auto symbol = [&](StringRef name) {
      return FlatSymbolRefAttr::get(&getContext(), name);
    };
    auto schedule = ScheduleOp::create(builder, train.getLoc(), symbol("train"),
                                       symbol(kState));
    builder.createBlock(&schedule.getBody());
    for (int64_t group = 0; group < groups; ++group)
      VariantOp::create(builder, train.getLoc(), symbol(nameOf(group)),
                        builder.getI64IntegerAttr(groups),
                        builder.getI64IntegerAttr(group));
  }

  SmallVector<ParameterUpdate> updates;
};

} // namespace
} // namespace gradus

// The key, the checks and the variants of refreshes; see refreshes.h.

#include "passes/refreshes.h"

#include "ir/arithmetic.h"
#include "passes/distribution.h"
#include "passes/step_variants.h"

#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mlir;

namespace gradus {
namespace {

constexpr StringLiteral kRefresh = "train_refresh";
constexpr StringLiteral kMeasure = "train_measure";

/// FLOPs of the ops that measure a factor, through what scales and joins them.
double measuringCost(Value factor) {
  double cost = 0;
  SmallVector<Value> behind = {factor};
  DenseSet<Operation *> seen;
  while (!behind.empty()) {
    Operation *op = behind.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto gram = dyn_cast<GramOp>(op))
      cost += gram.getFlops();
    else
      llvm::append_range(behind, op->getOperands());
  }
  return cost;
}

/// FLOPs of what a refresh does for a layer: to measure both sides, and to
/// invert them.
double costOf(FactorsOp factors) {
  double cost = 0;
  for (Value side : factors.getOperands()) {
    RankedTensorType type = tensorType(side);
    if (type.getRank() < 3)
      continue; // a vector
    double size = type.getDimSize(1);
    cost += type.getDimSize(0) * size * size * size;
    cost += measuringCost(side);
  }
  return cost;
}

/// Shares layers out so that the parts cost about the same: the costliest goes
/// first, to the part that costs the least so far.
std::vector<std::set<std::string>> partsOf(ArrayRef<FactorsOp> layers,
                                           int64_t count) {
  SmallVector<std::pair<double, FactorsOp>> sorted;
  for (FactorsOp layer : layers)
    sorted.emplace_back(costOf(layer), layer);
  llvm::stable_sort(
      sorted, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<std::set<std::string>> parts(count);
  std::vector<double> costs(count);
  for (auto [cost, layer] : sorted) {
    size_t least = llvm::min_element(costs) - costs.begin();
    parts[least].insert(layer.getParameter().str());
    costs[least] += cost;
  }
  return parts;
}

SmallVector<FactorsOp> factorsOf(GraphOp graph) {
  auto range = graph.getBody().front().getOps<FactorsOp>();
  return {range.begin(), range.end()};
}

/// Adds a variant for each part of a refresh that is spread over updates.
void addParts(GraphOp train, int64_t count,
              SmallVectorImpl<std::string> &names) {
  SmallVector<FactorsOp> layers = factorsOf(train);
  auto parts = partsOf(layers, count);
  for (auto [number, part] : llvm::enumerate(parts)) {
    std::string name = (kRefresh + "_" + Twine(number + 1)).str();
    GraphOp variant = cloneVariant(train, name, kUpdates);
    for (FactorsOp factors : factorsOf(variant))
      if (!part.count(factors.getParameter().str()))
        factors.erase();
    names.push_back(name);
  }
}

//===-- the choice ------------------------------------------------------===//

Value isEqual(const Arithmetic &math, Value value, int64_t number) {
  return math.compare(arith::CmpIPredicate::eq, value,
                      math.number(number, value));
}

/// 1 at the given updates, none of which occurs twice, else 0: the number of
/// those in a table that are this one.
Value atUpdates(OpBuilder &builder, Value update, ArrayRef<int64_t> updates) {
  Arithmetic math(builder, update.getLoc());
  auto type = tensorType(update).clone({int64_t(updates.size())});
  Value table = arith::ConstantOp::create(
      builder, math.loc, DenseElementsAttr::get(type, updates));
  Value here =
      math.compare(arith::CmpIPredicate::eq, table,
                   broadcastScalar(builder, math.loc, update, type.getShape()));
  Value found = math.select(here, math.number(1, table), math.number(0, table));
  return sum(builder, math.loc, found, {0});
}

Value rest(const Arithmetic &math, Value update, int64_t every) {
  return math.make<arith::RemSIOp>(update, math.number(every, update));
}

/// The number of the variant where it is time to refresh, else where it is
/// time to measure, else 0. They are numbered from 1 on as they are added.
Value inTurn(OpBuilder &builder, Value update, const RefreshSettings &refresh) {
  Arithmetic math(builder, update.getLoc());
  Value chosen = math.number(0, update);
  bool measures = bool(refresh.measureEvery);
  if (measures)
    chosen =
        math.select(isEqual(math, rest(math, update, *refresh.measureEvery), 0),
                    math.number(2, update), chosen);
  Value place = rest(math, update, refresh.every);
  if (refresh.spread == 1)
    return math.select(isEqual(math, place, 0), math.number(1, update), chosen);
  for (int64_t part = 0; part < refresh.spread; ++part)
    chosen =
        math.select(isEqual(math, place, part * refresh.every / refresh.spread),
                    math.number(2 + measures + part, update), chosen);
  return chosen; // The state begins with the whole refresh.
}

} // namespace

template <> void recipe::Value::to(RefreshSettings &settings) const {
  fill(&settings, &settingsId<RefreshSettings>);
}

recipe::Field refreshKey() {
  using enum recipe::Kind;
  using recipe::Field;
  const Field update = Field{"", integer, "0", "an update"}.from(0);
  const recipe::Keys<RefreshSettings> keys = {
      Field{"every", integer, "100",
            "updates from one refresh to the next; the first update has one"}
          .from(1)
          .below(1e9)
          .into(&RefreshSettings::every),
      Field{"measure_every", integer, "null",
            "updates from one measurement to the next, where factors are a "
            "mean over time; null: they are measured where they are inverted"}
          .from(1)
          .below(1e9)
          .into(&RefreshSettings::measureEvery),
      Field{"at", list, "null",
            "the updates that refresh, instead of `every`: ascending, 0 first"}
          .of(recipe::Fields{update})
          .into(&RefreshSettings::at),
      Field{"spread", integer, "1",
            "updates that a refresh is spread over, a part of the layers in "
            "each; the first update refreshes all"}
          .from(1)
          .below(65)
          .into(&RefreshSettings::spread),
      Field{"dealt", boolean, "false",
            "whether each of distribution.ranks processes inverts a part of "
            "the blocks, and gets the others'; else each inverts all"}
          .into(&RefreshSettings::isDealt)};
  return Field{"refresh", object, "{}",
               "when factors are measured and inverted; other updates use what "
               "the last one made"}
      .of(keys);
}

LogicalResult checkRefreshes(ProgramOp program, StringRef owner,
                             const RefreshSettings &settings, bool averages) {
  auto error = [&](const Twine &key) {
    return recipe::keyError(program, owner + ".refresh." + key);
  };
  if (distributionOf(program).logicalRanks)
    return recipe::keyError(program, owner)
           << "excludes distribution.logical_ranks, whose processes compute "
              "several ranks one after the other";
  if (settings.isDealt && isDataParallel(program) &&
      !distributionOf(program).ranks)
    return error("dealt")
           << "is true, which needs the number of processes that invert a part "
              "each: set distribution.ranks";
  const auto &at = settings.at;
  if (settings.measureEvery && (!averages || at))
    return error("measure_every")
           << (at ? "excludes refresh.at, whose updates measure and invert"
                  : "is for a mean over time, and decay is 0: factors are "
                    "measured where they are inverted");
  if (at && at->empty())
    return error("at") << "is empty, expected 0 first: the first update needs "
                          "factors";
  if (at && at->front() != 0)
    return error("at") << "begins with " << at->front()
                       << ", expected 0: the first update needs factors";
  if (settings.measureEvery && *settings.measureEvery >= settings.every)
    return error("measure_every")
           << "is " << *settings.measureEvery
           << ", expected less than refresh.every, which is " << settings.every;
  if (settings.measureEvery && settings.spread > 1)
    return error("measure_every")
           << "excludes refresh.spread, whose updates each measure a part "
              "of the layers";
  if (settings.spread > 1 && at)
    return error("spread")
           << "is " << settings.spread
           << ", but refresh.at says the updates of whole refreshes; use "
              "refresh.every";
  if (settings.spread > settings.every)
    return error("spread")
           << "is " << settings.spread
           << ", more than the updates from one refresh to the next, "
              "refresh.every, which is "
           << settings.every;
  if (at)
    for (size_t i = 1; i < at->size(); ++i)
      if ((*at)[i] <= (*at)[i - 1])
        return error("at") << "has " << (*at)[i] << " after " << (*at)[i - 1]
                           << ", expected ascending updates";
  return success();
}

LogicalResult addRefreshes(GraphOp train, RefreshSettings settings) {
  SmallVector<FactorsOp> layers = factorsOf(train);
  if (settings.isDealt && !layers.empty())
    train->setAttr(kDealt, UnitAttr::get(train.getContext()));
  if (layers.empty() || settings.isInEach())
    return success();
  // A part has a layer at least.
  settings.spread = std::min<int64_t>(settings.spread, layers.size());
  SmallVector<std::string> names = {kRefresh.str()};
  cloneVariant(train, kRefresh, kUpdates);
  if (settings.measureEvery) {
    GraphOp measure = cloneVariant(train, kMeasure, kUpdates);
    for (FactorsOp factors : factorsOf(measure))
      factors.setMeasuredOnly(true);
    names.push_back(kMeasure.str());
  }
  if (settings.spread > 1)
    addParts(train, settings.spread, names);
  auto choose = [&](OpBuilder &builder, Value update) {
    return settings.at ? atUpdates(builder, update, *settings.at)
                       : inTurn(builder, update, settings);
  };
  if (failed(addChoices(train->getParentOfType<ProgramOp>(), names,
                        /*first=*/1, choose)))
    return failure();
  for (FactorsOp factors : layers)
    factors.erase();
  return success();
}

LogicalResult useFactors(ProgramOp program, UseFactors use) {
  SmallVector<FactorsOp> all;
  llvm::StringMap<FactorsOp> forms;
  program.walk([&](FactorsOp factors) {
    all.push_back(factors);
    forms[factors.getParameter()] = factors;
  });
  for (GraphOp train : trainGraphs(program)) {
    llvm::StringMap<FactorsOp> measured;
    for (FactorsOp factors : factorsOf(train))
      measured[factors.getParameter()] = factors;
    Block &block = train.getBody().front();
    for (auto update : llvm::to_vector(block.getOps<ParameterUpdate>())) {
      StringRef name = update.getParameterName();
      FactorsOp own = measured.lookup(name);
      FactorsOp form = own ? own : forms.lookup(name);
      if (!form)
        continue;
      update->moveBefore(block.getTerminator()); // behind what is measured
      if (failed(use(update, form, bool(own))))
        return failure();
    }
  }
  for (FactorsOp factors : all)
    factors.erase();
  return success();
}

} // namespace gradus

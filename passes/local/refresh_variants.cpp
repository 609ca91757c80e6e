// Takes the measurement of curvature out of most steps: they use what an
// earlier one has measured and inverted.
//
// Runs behind trace_factors and before freezing, whose cuts are of the step
// that measures nothing: an update that refreshes trains everything.

#include "ir/arithmetic.h"
#include "ir/build.h"
#include "passes/passes.h"
#include "passes/preconditioning.h"
#include "passes/step_variants.h"

#include "mlir/IR/Remarks.h"

#include <set>

namespace gradus {
#define GEN_PASS_DEF_REFRESHVARIANTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

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

struct RefreshVariantsPass : impl::RefreshVariantsBase<RefreshVariantsPass> {
  using Base::Base;

  void runOnOperation() override {
    auto settings = preconditioning().of(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (!settings || !train || factorsOf(train).empty())
      return;
    if (isInEach(*settings))
      return;
    if (failed(addVariants(train, *settings)))
      return signalPassFailure();
    for (FactorsOp factors : factorsOf(train))
      factors.erase();
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("Refreshed").category(getArgument()))
        << ("@" + kRefresh + " measures curvature, @train does not").str();
  }

private:
  static SmallVector<FactorsOp> factorsOf(GraphOp graph) {
    auto range = graph.getBody().front().getOps<FactorsOp>();
    return {range.begin(), range.end()};
  }

  /// Whether each update refreshes, so that there is one form of the step.
  static bool isInEach(const PreconditionSettings &settings) {
    return !settings.refresh.at && settings.refresh.every == 1 &&
           settings.refresh.spread == 1;
  }

  LogicalResult addVariants(GraphOp train, PreconditionSettings settings) {
    // A part has a layer at least.
    settings.refresh.spread =
        std::min<int64_t>(settings.refresh.spread, factorsOf(train).size());
    SmallVector<std::string> names = {kRefresh.str()};
    cloneVariant(train, kRefresh, kUpdates);
    if (settings.measuresOften()) {
      GraphOp measure = cloneVariant(train, kMeasure, kUpdates);
      for (FactorsOp factors : factorsOf(measure))
        factors.setMeasuredOnly(true);
      names.push_back(kMeasure.str());
    }
    if (settings.refresh.spread > 1)
      addParts(train, settings.refresh.spread, names);
    const RefreshSettings &refresh = settings.refresh;
    auto choose = [&](OpBuilder &builder, Value update) {
      return refresh.at ? atUpdates(builder, update, *refresh.at)
                        : inTurn(builder, update, settings);
    };
    return addChoices(getOperation(), names, /*first=*/1, choose);
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

  static Value isEqual(const Arithmetic &math, Value value, int64_t number) {
    return math.compare(arith::CmpIPredicate::eq, value,
                        math.number(number, value));
  }

  /// 1 at the given updates, none of which occurs twice, else 0: the number of
  /// those in a table that are this one.
  static Value atUpdates(OpBuilder &builder, Value update,
                         ArrayRef<int64_t> updates) {
    Arithmetic math(builder, update.getLoc());
    auto type = tensorType(update).clone({int64_t(updates.size())});
    Value table = arith::ConstantOp::create(
        builder, math.loc, DenseElementsAttr::get(type, updates));
    Value here = math.compare(
        arith::CmpIPredicate::eq, table,
        broadcastScalar(builder, math.loc, update, type.getShape()));
    Value found =
        math.select(here, math.number(1, table), math.number(0, table));
    return sum(builder, math.loc, found, {0});
  }

  static Value rest(const Arithmetic &math, Value update, int64_t every) {
    return math.make<arith::RemSIOp>(update, math.number(every, update));
  }

  /// The number of the variant where it is time to refresh, else where it is
  /// time to measure, else 0. They are numbered from 1 on as they are added.
  static Value inTurn(OpBuilder &builder, Value update,
                      const PreconditionSettings &settings) {
    Arithmetic math(builder, update.getLoc());
    const RefreshSettings &refresh = settings.refresh;
    Value chosen = math.number(0, update);
    bool measures = settings.measuresOften();
    if (measures)
      chosen = math.select(
          isEqual(math, rest(math, update, *refresh.measureEvery), 0),
          math.number(2, update), chosen);
    Value place = rest(math, update, refresh.every);
    if (refresh.spread == 1)
      return math.select(isEqual(math, place, 0), math.number(1, update),
                         chosen);
    for (int64_t part = 0; part < refresh.spread; ++part)
      chosen = math.select(
          isEqual(math, place, part * refresh.every / refresh.spread),
          math.number(2 + measures + part, update), chosen);
    return chosen; // The state begins with the whole refresh.
  }
};

} // namespace
} // namespace gradus

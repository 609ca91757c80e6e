// Makes gradients change their loss scale where they pass from one group of
// parameters to another.
//
// Runs right before autodiff, which sees identities whose gradient has a
// factor. What follows from overflows is the work of loss_scale, behind it.

#include "ir/gradient_ops.h"
#include "passes/deferred_factor.h"
#include "passes/gradients/followed.h"
#include "passes/loss_scale_groups.h"
#include "passes/numbers.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

namespace gradus {
#define GEN_PASS_DEF_LOSSSCALEBORDERS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// An attribute of a graph that has its borders.
constexpr StringLiteral kBordered = "gradus.bordered";

/// The identity, whose gradient is `factor` times that of its result.
Value withGradientTimes(OpBuilder &builder, Value value, Value factor) {
  Arithmetic math(builder, value.getLoc());
  Type own = tensorType(value).getElementType();
  Value wide = convert(builder, math.loc, value, computeType(own));
  Value product = math.multiply(wide, spreadLike(math, factor, wide));
  return StopGradientOp::create(builder, math.loc, value,
                                convert(builder, math.loc, product, own));
}

/// Adds the borders of a graph.
class Borders {
public:
  Borders(GraphOp graph, const ScaleGroups &groups, ArrayRef<StateOp> trained)
      : graph_(graph), groups_(groups) {
    for (StateOp state : trained)
      trained_.insert(state.getSymName());
  }

  /// Reads the scales at the graph's begin. Fails if the model has states of
  /// their names.
  LogicalResult readScales();
  /// Puts a border before each op that has a higher level than its operand.
  void add();
  /// Gives the loss the scale of its level.
  void scaleLoss(OpOperand &output);

  size_t count() const { return passed_.size(); }

private:
  std::optional<size_t> levelOf(Operation &op) const;
  Value passed(OpOperand &use, size_t lower, size_t higher);
  Value ratio(size_t lower, size_t higher);

  GraphOp graph_;
  const ScaleGroups &groups_;
  llvm::StringSet<> trained_;
  SmallVector<Value> scales_;
  /// The levels of values that depend on a trained parameter.
  DenseMap<Value, size_t> levels_;
  /// The identities of values, by the level for which they stand.
  DenseMap<std::pair<Value, size_t>, Value> passed_;
  DenseMap<std::pair<size_t, size_t>, Value> ratios_;
};

LogicalResult Borders::readScales() {
  auto builder = OpBuilder::atBlockBegin(&graph_.getBody().front());
  for (size_t group = 0; group < groups_.size(); ++group) {
    scales_.push_back(groups_.read(builder, graph_.getLoc(), group));
    if (!scales_.back())
      return failure();
  }
  return success();
}

/// The group of the parameter that an op reads, or the highest level among its
/// operands; nothing if no gradient passes it.
std::optional<size_t> Borders::levelOf(Operation &op) const {
  if (auto read = dyn_cast<ReadOp>(op))
    return trained_.contains(read.getState()) ? groups_.groupOf(read.getState())
                                              : std::nullopt;
  std::optional<size_t> level;
  for (OpOperand &operand : followed(op))
    if (auto found = levels_.find(operand.get()); found != levels_.end())
      level = std::max(level.value_or(0), found->second);
  return level;
}

void Borders::add() {
  for (Operation &op : llvm::make_early_inc_range(graph_.getBody().front())) {
    auto results = llvm::make_filter_range(op.getResults(), [](Value value) {
      return isa<FloatType>(getElementTypeOrSelf(value.getType()));
    });
    std::optional<size_t> level = levelOf(op);
    if (!level || results.empty())
      continue;
    for (OpOperand &use : followed(op))
      if (auto found = levels_.find(use.get());
          found != levels_.end() && found->second < *level)
        use.set(passed(use, found->second, *level));
    for (Value result : results)
      levels_[result] = *level;
  }
}

Value Borders::passed(OpOperand &use, size_t lower, size_t higher) {
  Value &behind = passed_[{use.get(), higher}];
  if (!behind) {
    Value factor = ratio(lower, higher);
    OpBuilder builder(use.getOwner());
    behind = withGradientTimes(builder, use.get(), factor);
  }
  return behind;
}

Value Borders::ratio(size_t lower, size_t higher) {
  Value &ratio = ratios_[{lower, higher}];
  if (!ratio) {
    OpBuilder builder(graph_.getContext());
    builder.setInsertionPointAfterValue(scales_.back());
    auto quotient = arith::DivFOp::create(builder, graph_.getLoc(),
                                          scales_[lower], scales_[higher]);
    quotient->setAttr(kBorder, builder.getDenseI64ArrayAttr(
                                   {int64_t(lower), int64_t(higher)}));
    ratio = quotient;
  }
  return ratio;
}

/// The factor that waits for other ranks stays outermost: autodiff leaves it
/// out.
void Borders::scaleLoss(OpOperand &output) {
  Value loss = deferredParts(output.get()).value;
  auto level = levels_.find(loss);
  if (level == levels_.end())
    return;
  OpOperand *use = &output;
  while (use->get() != loss)
    use = &use->get().getDefiningOp()->getOpOperand(0);
  OpBuilder builder(graph_.getContext());
  builder.setInsertionPointAfterValue(loss);
  use->set(withGradientTimes(builder, loss, scales_[level->second]));
}

struct LossScaleBordersPass : impl::LossScaleBordersBase<LossScaleBordersPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp train = getOperation().getGraph(kTrain);
    auto groups = ScaleGroups::of(getOperation());
    if (!train || !groups || train->hasAttr(kBordered))
      return;
    std::vector<StateOp> trained = trainedParameters(getOperation());
    if (failed(groups->verify(trained)) ||
        failed(addBorders(train, *groups, trained)))
      signalPassFailure();
  }

  /// Leaves a graph as it is that has its gradients, or that autodiff will
  /// refuse.
  LogicalResult addBorders(GraphOp train, const ScaleGroups &groups,
                           ArrayRef<StateOp> trained) {
    OpOperand *loss = findLoss(train);
    if (!loss || !train.getBody().front().getOps<ParameterUpdate>().empty())
      return success();
    Borders borders(train, groups, trained);
    if (failed(borders.readScales()))
      return failure();
    borders.add();
    borders.scaleLoss(*loss);
    train->setAttr(kBordered, UnitAttr::get(&getContext()));
    remark::passed(train.getLoc(),
                   remark::RemarkOpts::name("Bordered").category(getArgument()))
        << (Twine(groups.size()) +
            " groups have loss scales of their own, with " +
            Twine(borders.count()) + " borders between them")
               .str();
    return success();
  }
};

} // namespace
} // namespace gradus

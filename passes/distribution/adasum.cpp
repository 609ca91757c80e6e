// Combines gradients of ranks by AdaSum; see adasum.h.
//
// Runs behind data_parallel, which leaves gradients to it. What is clipped,
// decayed or centred is the combined gradient then, as it is the mean
// otherwise.

#include "passes/distribution/adasum.h"

#include "passes/passes.h"
#include "passes/train_graphs.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace gradus;

bool gradus::isByAdasum(const DistributionSettings &settings, AdasumOf of) {
  return settings.mode == DistributionMode::dataParallel &&
         settings.reduce == ReduceType::adasum && settings.adasum.of == of;
}

static AcrossGroups adasumPer(const DistributionSettings &settings) {
  return settings.adasum.per == AdasumPer::model ? AcrossGroups::adasum_of_all
                                                 : AcrossGroups::adasum;
}

static GroupsAttr groupsOf(MLIRContext *context, const AdasumSettings &settings,
                           InGroup inside, AcrossGroups across) {
  return GroupsAttr::get(context, settings.within, inside, across,
                         Builder(context).getF64FloatAttr(settings.epsilon));
}

static GroupsAttr groupsOfGradients(MLIRContext *context,
                                    const DistributionSettings &settings,
                                    AcrossGroups across) {
  return groupsOf(context, settings.adasum,
                  settings.mean ? InGroup::mean : InGroup::sum, across);
}

GroupsAttr gradus::changeGroups(MLIRContext *context,
                                const DistributionSettings &settings) {
  return groupsOf(context, settings.adasum, InGroup::mean, adasumPer(settings));
}

GroupsAttr gradus::sumOfGroup(MLIRContext *context,
                              const DistributionSettings &settings) {
  return groupsOf(context, settings.adasum, InGroup::sum,
                  AcrossGroups::nothing);
}

bool gradus::hasGroups(GraphOp graph, AcrossGroups across) {
  return llvm::any_of(graph.getBody().front().getOps<AllReduceOp>(),
                      [&](AllReduceOp op) {
                        auto groups = op.getGroups();
                        return groups && groups->getAcross() == across;
                      });
}

/// The type that values of several types travel in: f64 where one has it.
static FloatType commonType(ArrayRef<RankValue> values) {
  OpBuilder builder(values.front().own.getContext());
  for (const RankValue &value : values)
    if (getElementTypeOrSelf(value.own).isF64())
      return builder.getF64Type();
  return builder.getF32Type();
}

/// Combines values by one op, in front of the builder's place.
static void combineTogether(OpBuilder &builder, Location loc,
                            ArrayRef<RankValue> values, GroupsAttr groups) {
  FloatType type = commonType(values);
  SmallVector<Value> operands;
  SmallVector<StringRef> names;
  for (const RankValue &value : values) {
    operands.push_back(convert(builder, loc, value.own, type));
    names.push_back(value.parameter);
  }
  auto combined = AllReduceOp::create(builder, loc, operands);
  combined.setParameters(names);
  combined.setGroupsAttr(groups);
  for (auto [value, result] : llvm::zip(values, combined.getResults()))
    value.use->set(
        convert(builder, loc, result, getElementTypeOrSelf(value.own)));
}

void gradus::combineOverRanks(ArrayRef<RankValue> values, GroupsAttr groups) {
  if (values.empty())
    return;
  OpBuilder builder(groups.getContext());
  if (groups.getAcross() != AcrossGroups::adasum_of_all) {
    for (const RankValue &value : values) {
      builder.setInsertionPoint(value.use->getOwner());
      combineTogether(builder, value.use->getOwner()->getLoc(), value, groups);
    }
    return;
  }
  Operation *last = values.front().use->getOwner();
  for (const RankValue &value : values)
    if (last->isBeforeInBlock(value.use->getOwner()))
      last = value.use->getOwner();
  builder.setInsertionPoint(last);
  combineTogether(builder, last->getLoc(), values, groups);
}

namespace gradus {
#define GEN_PASS_DEF_ADASUM
#include "passes/passes.h.inc"

namespace {

struct AdasumPass : impl::AdasumBase<AdasumPass> {
  using Base::Base;

  void runOnOperation() override {
    DistributionSettings settings = distributionOf(getOperation());
    if (isByAdasum(settings, AdasumOf::gradients))
      combine(groupsOfGradients(&getContext(), settings, adasumPer(settings)));
    else if (isByAdasum(settings, AdasumOf::weights) &&
             settings.adasum.within != 1)
      combine(
          groupsOfGradients(&getContext(), settings, AcrossGroups::nothing));
  }

  void combine(GroupsAttr groups) {
    for (GraphOp graph : trainGraphs(getOperation())) {
      Block &block = graph.getBody().front();
      if (hasGroups(graph, groups.getAcross()))
        continue;
      SmallVector<RankValue> gradients;
      for (auto update : block.getOps<ParameterUpdate>()) {
        if (update->hasAttr(kIsOfAllRanks))
          continue;
        OpOperand &gradient = update.getGradientUse();
        gradients.push_back(
            {gradient.get(), update.getParameterName().str(), &gradient});
      }
      combineOverRanks(gradients, groups);
      // Updates may stand in front of gradients of others.
      if (!sortTopologically(&block)) {
        graph.emitError("@")
            << graph.getSymName() << " has gradients that depend on updates";
        return signalPassFailure();
      }
      report(graph, gradients.size(), groups);
    }
  }

  void report(GraphOp graph, size_t gradients, GroupsAttr groups) {
    StringRef how =
        groups.getAcross() != AcrossGroups::nothing ? " are combined by AdaSum"
        : groups.getInside() == InGroup::mean ? " are means of groups of ranks"
                                              : " are sums of groups of ranks";
    remark::passed(graph.getLoc(),
                   remark::RemarkOpts::name("Adasum").category(getArgument()))
        << ("@" + graph.getSymName() + ": " + Twine(gradients) + " gradients" +
            how)
               .str();
  }
};

} // namespace
} // namespace gradus

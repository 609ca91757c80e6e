// Removes redundant batch normalizations from blocks that have several.
//
// Runs on @predict before @train and @evaluate are derived from it, and before
// casts for mixed precision are added. normalized_blocks.cpp decides which ones
// are redundant.

#include "passes/model/less_bn.h"

#include "passes/model/normalized_blocks.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "recipe/patterns.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_LESSBN
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// The model's name of a batch normalization: the name of its scale without the
/// last part. Empty if the scale is not a state.
StringRef nameOf(BatchNormOp norm) {
  auto scale = norm.getScale().getDefiningOp<ReadOp>();
  return scale ? scale.getState().rsplit('.').first : StringRef();
}

std::string shownNameOf(BatchNormOp norm) {
  StringRef name = nameOf(norm);
  return name.empty() ? "a batch normalization" : name.str();
}

bool isNamed(BatchNormOp norm, const NamePatterns &patterns) {
  return !nameOf(norm).empty() && patterns.match(nameOf(norm));
}

/// Warns of patterns in `keep` that match nothing, which are probably misspelt.
void warnOfUnmatched(const NamePatterns &keep, GraphOp predict) {
  auto program = predict->getParentOfType<ProgramOp>();
  for (const std::string &text : keep.texts()) {
    auto norms = predict.getBody().front().getOps<BatchNormOp>();
    if (llvm::none_of(norms, [&](BatchNormOp norm) {
          return !nameOf(norm).empty() && matchesPattern(text, nameOf(norm));
        }))
      recipe::keyWarning(program, "less_bn.keep")
          << "has \"" << text
          << "\", which names no batch normalization of the "
             "model";
  }
}

struct LessBnPass : impl::LessBnBase<LessBnPass> {
  using Base::Base;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    GraphOp predict = program.getGraph(well_known::kPredict);
    auto settings = lessBn().of(program);
    if (!predict || !settings || predict->hasAttr(kDone))
      return;
    NamePatterns keep(settings->keep);
    warnOfUnmatched(keep, predict);
    rewrite(predict, keep);
  }

private:
  void rewrite(GraphOp predict, const NamePatterns &keep) {
    int64_t found = 0, removed = 0;
    for (auto &[op, verdict] : judgeNorms(predict)) {
      auto norm = cast<BatchNormOp>(op);
      ++found;
      bool isKept = isNamed(norm, keep);
      report(norm, verdict, isKept);
      if (!verdict.redundant || isKept)
        continue;
      ++removed;
      takeOut(norm);
    }
    remark::passed(predict.getLoc(),
                   remark::RemarkOpts::name("Summary").category(getArgument()))
        << (Twine(removed) + " of " + Twine(found) +
            " batch normalizations taken out")
               .str();
    if (removed == 0)
      recipe::keyWarning(getOperation(), "less_bn")
          << "takes nothing out: none of the model's " << found
          << " batch normalizations stands in a block that it knows";
    predict->setAttr(kDone, UnitAttr::get(&getContext()));
  }

  void takeOut(BatchNormOp norm) {
    SmallVector<std::string> states;
    SmallVector<Operation *> reads;
    for (Value operand : norm->getOperands().drop_front())
      if (auto read = operand.getDefiningOp<ReadOp>()) {
        states.push_back(read.getState().str());
        reads.push_back(read);
      }
    norm.getResult().replaceAllUsesWith(norm.getInput());
    norm.erase();
    for (Operation *read : reads)
      if (read->use_empty())
        read->erase();
    for (StringRef state : states)
      dropIfUnused(getOperation(), state);
  }

  void report(BatchNormOp norm, const NormVerdict &verdict, bool isKept) {
    auto options = remark::RemarkOpts::name("LessBn").category(getArgument());
    if (verdict.redundant && !isKept)
      remark::passed(norm.getLoc(), options)
          << shownNameOf(norm) + " taken out: " + verdict.reason;
    else
      remark::missed(norm.getLoc(), options)
          << shownNameOf(norm) +
                 " kept: " + (isKept ? "`keep` names it" : verdict.reason);
  }

  /// An attribute of @predict where layers have been taken out.
  static constexpr StringLiteral kDone = "gradus.less_normalization";
};

recipe::Field lessBnKey() {
  const recipe::Keys<LessBnSettings> keys = {
      recipe::patterns("keep", "[]", "batch normalizations to keep")
          .into(&LessBnSettings::keep)};
  return recipe::Field{"less_bn", recipe::Kind::object, "null",
                       "takes batch normalizations out of blocks that have "
                       "several"}
      .of(keys)
      .switched()
      .flagged();
}

} // namespace

const recipe::Method<LessBnSettings> &lessBn() {
  static const recipe::Method<LessBnSettings> method{lessBnKey()};
  return method;
}

} // namespace gradus

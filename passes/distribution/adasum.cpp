// Reports that a single process has no gradients to merge by AdaSum.
//
// AutoBoost's level O2 requests it in general; with one process the sum is the
// gradient itself.

#include "passes/distribution.h"
#include "passes/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_ADASUM
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Whether AutoBoost's document requests AdaSum; its level alone is only text.
bool isAsked(ProgramOp program) {
  DictionaryAttr recipe = program.getRecipeAttr();
  auto document = recipe ? recipe.getAs<DictionaryAttr>("boost") : nullptr;
  auto flags = document ? document.getAs<DictionaryAttr>("boost") : nullptr;
  auto flag = flags ? flags.getAs<BoolAttr>("adasum") : nullptr;
  return flag && flag.getValue();
}

struct AdasumPass : impl::AdasumBase<AdasumPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!isAsked(getOperation()))
      return;
    remark::missed(getOperation().getLoc(),
                   remark::RemarkOpts::name("Adasum").category(getArgument()))
        << (isDataParallel(getOperation())
                ? "is not built yet: the ranks share the mean of gradients"
                : "one process has no gradients of others to merge; adasum "
                  "changes nothing");
  }
};

} // namespace
} // namespace gradus

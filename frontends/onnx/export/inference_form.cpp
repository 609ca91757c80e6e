// Without its dropout, a random mask compares numbers that are known
// (operators/random.cpp), which is folded here.

#include "frontends/onnx/export/inference_form.h"

#include "frontends/onnx/writer/op_writer.h"

#include "ir/gradient_ops.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// MLIR folds comparisons of scalars alone.
void foldComparison(arith::CmpFOp compare) {
  std::optional<double> a = numberOf(compare.getLhs()),
                        b = numberOf(compare.getRhs());
  if (!a || !b)
    return;
  bool holds = arith::applyCmpPredicate(compare.getPredicate(), APFloat(*a),
                                        APFloat(*b));
  OpBuilder builder(compare);
  auto type = cast<RankedTensorType>(compare.getType());
  compare.getResult().replaceAllUsesWith(arith::ConstantOp::create(
      builder, compare.getLoc(),
      DenseElementsAttr::get(type, builder.getBoolAttr(holds))));
  compare.erase();
}

/// Runs the folders of all ops.
void fold(GraphOp graph) {
  (void)applyPatternsGreedily(graph.getOperation(),
                              RewritePatternSet(graph.getContext()));
}

} // namespace

void makeInference(GraphOp graph) {
  graph.walk([](Operation *op) { // those in the steps of scans, too
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      attention.removeDropoutAttr();
    } else if (auto dropout = dyn_cast<DropoutOp>(op)) {
      dropout.getResult().replaceAllUsesWith(dropout.getInput());
      dropout.erase();
    } else if (auto stop = dyn_cast<StopGradientOp>(op)) {
      // A straight-through estimator only changes gradients.
      stop.getResult().replaceAllUsesWith(stop.getInput());
      stop.erase();
    }
  });
  graph.walk(foldComparison);
  fold(graph);
}

} // namespace gradus::onnx

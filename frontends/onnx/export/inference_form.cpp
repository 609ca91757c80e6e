// Without its dropout, a random mask compares numbers that are known
// (operators/random.cpp), which is folded here.

#include "frontends/onnx/export/inference_form.h"

#include "frontends/onnx/writer/op_writer.h"

#include "ir/gradient_ops.h"
#include "ir/scan_ops.h"

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

/// Writes out the steps of scans: the writer knows no loops.
static void writeOut(Block &block) {
  for (auto scan : llvm::make_early_inc_range(block.getOps<ScanOp>())) {
    OpBuilder builder(scan);
    scan->replaceAllUsesWith(scan.decompose(builder));
    scan.erase();
  }
}

void makeInference(GraphOp graph) {
  Block &block = graph.getBody().front();
  writeOut(block);
  for (Operation &op : llvm::make_early_inc_range(block)) {
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
  }
  for (auto compare : llvm::make_early_inc_range(graph.getOps<arith::CmpFOp>()))
    foldComparison(compare);
  fold(graph);
}

} // namespace gradus::onnx

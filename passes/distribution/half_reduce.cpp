// Makes gradients travel between ranks in 16 bits.
//
// Runs on the sums that data_parallel has made. What is summed is divided by
// the number of ranks first: the largest number of f16 is 65504, and the sum of
// two ranks' 40000 would be none.

#include "passes/distribution.h"

#include "passes/loss_scale.h"
#include "passes/numbers.h"
#include "passes/passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_HALFREDUCE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

bool isNarrow(AllReduceOp sum) {
  return getElementTypeOrSelf(sum.getOperand(0)).getIntOrFloatBitWidth() <= 16;
}

struct HalfReducePass : impl::HalfReduceBase<HalfReducePass> {
  using Base::Base;

  void runOnOperation() override {
    settings = distributionOf(getOperation());
    if (settings.mode == DistributionMode::none ||
        !(settings.reduce == ReduceType::half ||
          settings.reduce == ReduceType::bf16))
      return;
    for (auto graph : getOperation().getBody().getOps<GraphOp>()) {
      SmallVector<AllReduceOp> sums;
      for (auto sum : graph.getBody().front().getOps<AllReduceOp>())
        if (!sum.getParameter(0).empty() && !isNarrow(sum))
          sums.push_back(sum);
      if (!sums.empty() && failed(narrow(graph, sums)))
        return signalPassFailure();
    }
  }

  LogicalResult narrow(GraphOp graph, ArrayRef<AllReduceOp> sums) {
    OpBuilder builder = OpBuilder::atBlockBegin(&graph.getBody().front());
    Arithmetic math(builder, graph.getLoc());
    Value ranks = readRanks(builder, math.loc, getOperation());
    if (!ranks)
      return failure();
    Value count = convert(builder, math.loc, ranks, builder.getF32Type());
    SmallVector<Value> results;
    for (AllReduceOp sum : sums) {
      Value scale = readScale(builder, math.loc, sum.getParameter(0));
      if (!scale)
        return failure();
      scale = convert(builder, math.loc, scale, builder.getF32Type());
      results.push_back(
          sumNarrow(sum, math.divide(scale, count), math.divide(count, scale)));
    }
    Block &block = graph.getBody().front();
    for (auto guard : llvm::to_vector(block.getOps<GuardOp>()))
      alsoIfFinite(guard, results);
    // A condition now needs gradients that stood behind it.
    if (!sortTopologically(&block))
      return graph.emitError("@")
             << graph.getSymName()
             << " has gradients that depend on whether gradients are finite, "
                "which is known behind their sum of 16 bits; take "
                "distribution.reduce \"plain\"";
    report(graph, sums.size());
    return success();
  }

  /// Reads the factor of a parameter's gradient while it is narrow, a scalar.
  Value readScale(OpBuilder &builder, Location loc, StringRef parameter) {
    if (settings.own.halfScale)
      return readNumber(builder, loc, getOperation(), *settings.own.halfScale);
    return scaleOfGradient(builder, loc, getOperation(), parameter);
  }

  /// Replaces a sum by one of 16 bits, and returns what it gives.
  Value sumNarrow(AllReduceOp sum, Value down, Value up) {
    OpBuilder builder(sum);
    Location loc = sum.getLoc();
    Arithmetic math(builder, loc);
    Value own = sum.getOperand(0);
    Type wide = tensorType(own).getElementType();
    FloatType type = settings.reduce == ReduceType::half
                         ? FloatType(builder.getF16Type())
                         : FloatType(builder.getBF16Type());
    Value part = math.multiply(own, spreadLike(math, down, own));
    Value total = sumOverRanks(builder, loc, convert(builder, loc, part, type),
                               sum.getParameter(0));
    Value back = convert(builder, loc, total, wide);
    sum.getResult(0).replaceAllUsesWith(
        math.multiply(back, spreadLike(math, up, back)));
    sum.erase();
    return back;
  }

  /// Makes a guard hold only if these sums are finite, too: a gradient may be
  /// too large for 16 bits alone, after all that checks gradients. The sums are
  /// equal on all ranks, and so is what follows from them.
  void alsoIfFinite(GuardOp guard, ArrayRef<Value> sums) {
    Value own = guard.getCondition();
    OpBuilder builder(guard);
    Value total;
    for (Value sum : sums) {
      Arithmetic math(builder, sum.getLoc());
      Value zeros = math.multiply(sum, math.number(0, sum));
      Value part = gradus::sum(builder, sum.getLoc(), zeros,
                               allAxes(tensorType(sum).getRank()));
      part = convert(builder, sum.getLoc(), part, builder.getF32Type());
      total = total ? math.add(total, part) : part;
    }
    Arithmetic math(builder, guard.getLoc());
    Value finite = math.equal(total, math.number(0, total));
    auto both = arith::AndIOp::create(builder, guard.getLoc(), own, finite);
    own.replaceAllUsesExcept(both, both);
  }

  void report(GraphOp graph, size_t gradients) {
    remark::passed(
        graph.getLoc(),
        remark::RemarkOpts::name("HalfReduce").category(getArgument()))
        << ("@" + graph.getSymName() + ": " + Twine(gradients) +
            " gradients travel in " +
            (settings.reduce == ReduceType::half ? "f16" : "bf16"))
               .str();
  }

  DistributionSettings settings;
};

} // namespace
} // namespace gradus

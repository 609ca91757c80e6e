// Lets dropouts of @train drop.
//
// Runs between training_step, which makes @train of the model, and autodiff,
// for which a dropped element is a constant. @evaluate and @predict keep the
// op, which is the identity there.

#include "ir/build.h"
#include "passes/arithmetic.h"
#include "passes/passes.h"
#include "passes/recipe.h"
#include "passes/state.h"

#include "mlir/IR/Remarks.h"

#include <cmath>

namespace gradus {
#define GEN_PASS_DEF_TRAINDROPOUT
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct TrainDropoutPass : impl::TrainDropoutBase<TrainDropoutPass> {
  using Base::Base;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    GraphOp train = program.getGraph("train");
    if (!train)
      return;
    ErrorWatch watch(&getContext());
    RecipeObject recipe = recipeOf(program);
    seed = recipe.integer("seed", 0);
    int64_t stream = 0;
    for (auto op : llvm::to_vector(train.getOps<DropoutOp>())) {
      double ratio = recipe.number("dropout", op.getRatio().convertToDouble());
      if (ratio != 0 && failed(drop(program, op, ratio, stream++)))
        return signalPassFailure();
    }
    if (watch.sawError())
      signalPassFailure();
  }

  /// Puts the elements that stay, made larger, and zeros in the op's place.
  LogicalResult drop(ProgramOp program, DropoutOp op, double ratio,
                     int64_t stream) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto counter = RankedTensorType::get({}, builder.getI64Type());
    if (failed(ensureState(program, "step", counter, Role::counter)))
      return failure();
    Value step = readState(builder, loc, "step", counter);
    auto bits = op.getType().clone(builder.getI64Type());
    Value drawn = RandomBitsOp::create(builder, loc, bits, step, stream, seed);
    Value limit = splat(builder, loc, bits, std::round(ratio * 0x1p32));
    Value dropped = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, drawn, limit);
    Arithmetic math(builder, loc);
    Value larger = math.multiply(
        op.getInput(),
        math.number(ratio < 1 ? 1 / (1 - ratio) : 0, op.getInput()));
    Value result = math.select(dropped, math.number(0, op.getInput()), larger);
    report(op, ratio);
    op.getResult().replaceAllUsesWith(result);
    op.erase();
    return success();
  }

  void report(DropoutOp op, double ratio) {
    remark::passed(op.getLoc(),
                   remark::RemarkOpts::name("Dropout").category(getArgument()))
        << "drops " << std::to_string(ratio) << " of its elements in @train";
  }

  int64_t seed = 0;
};

} // namespace
} // namespace gradus

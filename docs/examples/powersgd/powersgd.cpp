// PowerSGD: ranks share the gradient of a matrix as a product of two thin ones.
//
//   M = gradient + residual                       [n, m], each rank's own
//   P = orthonormal(sum over ranks of M Q)        [n, r]
//   own = M^T P, Q = mean over ranks of own       [m, r]
//   gradient = P Q^T, residual = M - P own^T
//
// Vogels, Karimireddy and Jaggi (https://arxiv.org/abs/1905.13727).

#include "ir/arithmetic.h"
#include "passes/distribution.h"
#include "passes/distribution/own_values.h"
#include "passes/optimizers/parameters.h"
#include "passes/pass_plugin.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

namespace {
using namespace mlir;
using namespace gradus;

struct Settings {
  int64_t rank = 0;
  double saving = 0;
};

recipe::Field powerSgdKey() {
  using enum recipe::Kind;
  using recipe::Field;
  const recipe::Keys<Settings> keys = {
      Field{"rank", integer, "2", "columns of P and Q"}.from(1).below(33).into(
          &Settings::rank),
      Field{"saving", number, "2", "elements of a matrix by those of P and Q"}
          .from(0)
          .into(&Settings::saving)};
  return Field{"powersgd", object, "null", "ranks share thin matrices"}
      .of(keys)
      .switched()
      .flagged();
}

/// Makes columns orthonormal. What is left of one that depends on others is
/// noise, which a second round makes orthogonal, too.
Value orthonormal(const Arithmetic &math, Value matrix) {
  OpBuilder &builder = math.builder;
  Location loc = math.loc;
  int64_t rows = tensorType(matrix).getDimSize(0);
  auto type = [&](int64_t count) {
    return RankedTensorType::get({rows, count}, builder.getF32Type());
  };
  Value columns;
  for (int64_t i = 0; i < tensorType(matrix).getDimSize(1); ++i) {
    Value column =
        SliceOp::create(builder, loc, type(1), matrix, ArrayRef<int64_t>{0, i},
                        ArrayRef<int64_t>{1, 1});
    for (int round = 0; round < 2; ++round) {
      if (columns) {
        Value parts = matmul(builder, loc, columns, column, true);
        column = math.subtract(column, matmul(builder, loc, columns, parts));
      }
      Value norm = math.norm(column);
      norm = math.larger(norm, math.number(1e-30, norm)); // of zeros
      column = math.divide(column, spreadLike(math, norm, column));
    }
    if (columns)
      column = ConcatenateOp::create(builder, loc, type(i + 1),
                                     ValueRange{columns, column}, /*axis=*/1);
    columns = column;
  }
  return columns;
}

/// Runs where gradients are each rank's own.
struct PowerSgd : PassWrapper<PowerSgd, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PowerSgd)
  StringRef getArgument() const override { return "powersgd"; }
  static PluginMethod<Settings> method() { return {powerSgdKey(), "local"}; }

  void runOnOperation() override {
    auto settings = method().of(getOperation());
    shared = distributionOf(getOperation());
    if (!settings || shared.mode == DistributionMode::none)
      return;
    bool isPlain = shared.reduce == ReduceType::plain && !shared.own.clip;
    if (!isPlain || shared.logicalRanks)
      return recipe::keyError(getOperation(), "plugins.powersgd")
                 << "needs reduce \"plain\" without logical_ranks and clip",
             signalPassFailure();
    ParameterGroups groups(getOperation());
    for (GraphOp train : trainGraphs(getOperation()))
      for (auto update : train.getBody().front().getOps<ParameterUpdate>()) {
        RankedTensorType type = tensorType(update.getGradientUse().get());
        bool isFrozen = groups.settingsOf(update.getParameterName()).isFrozen;
        if (type.getRank() < 2 || type.getNumElements() == 0 || isFrozen ||
            update->hasAttr(kIsOfAllRanks))
          continue;
        double n = type.getDimSize(0), m = type.getNumElements() / n,
               r = std::min({double(settings->rank), n, m});
        if (n * m >= settings->saving * r * (n + m) &&
            failed(share(update, int64_t(n), int64_t(m), int64_t(r))))
          return signalPassFailure();
      }
  }

  LogicalResult share(ParameterUpdate update, int64_t n, int64_t m, int64_t r) {
    OpBuilder builder(update);
    Location loc = update.getLoc();
    Arithmetic math(builder, loc);
    OpOperand &gradient = update.getGradientUse();
    RankedTensorType type = tensorType(gradient.get());
    Type f32 = builder.getF32Type();
    auto matrix = RankedTensorType::get({n, m}, f32),
         thin = RankedTensorType::get({m, r}, f32);
    std::string name = update.getParameterName().str(),
                basis = "powersgd/q/" + name,
                residual = well_known::kLasting + ("powersgd/" + name);
    States states(getOperation());
    if (failed(states.ensure(basis, thin, Role::slot)) ||
        failed(states.ensure(residual, matrix, Role::slot)))
      return failure();
    states.find(basis).setInitAttr(InitAttr::get(
        &getContext(), Initializer::normal, builder.getF64FloatAttr(1)));
    markOwn(states.find(residual));
    Value own = convert(builder, loc, gradient.get(), f32);
    own = math.add(reshape(builder, loc, own, {n, m}),
                   readState(builder, loc, residual, matrix));
    Value old = readState(builder, loc, basis, thin),
          ofAll = sumOverRanks(builder, loc, matmul(builder, loc, own, old)),
          p = orthonormal(math, ofAll),
          part = matmul(builder, loc, own, p, true),
          q = sumOverRanks(builder, loc, part);
    Value ranks = readRanks(builder, loc, getOperation());
    if (shared.mean)
      q = math.divide(q, ranksLike(math, ranks, q));
    Value sent = matmul(builder, loc, p, part, false, true);
    writeState(builder, loc, residual, math.subtract(own, sent));
    Value isZero = math.equal(q, math.number(0, q)); // and would stay so
    writeState(builder, loc, basis, math.select(isZero, old, q));
    Value all = matmul(builder, loc, p, q, false, true);
    all = convert(builder, loc, all, type.getElementType());
    gradient.set(reshape(builder, loc, all, type.getShape()));
    update->setAttr(kIsOfAllRanks, builder.getUnitAttr());
    return success();
  }
  DistributionSettings shared;
};

} // namespace

GRADUS_PASS_PLUGIN(PowerSgd)

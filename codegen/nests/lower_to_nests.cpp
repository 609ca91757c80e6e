// Lowers each op of a graph to loop nests; fusion then merges the nests.
//
// This file has elementwise ops (by their interface), matmul, reductions, and
// ops that move elements; for windows see lower_to_nests_windows.cpp.

#include "codegen/nests/lower_to_nests.h"
#include "codegen/plan/passes.h"
#include "codegen/plan/plan_ops.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
#define GEN_PASS_DEF_LOWERTONESTS
#include "codegen/plan/passes.h.inc"

using namespace mlir;
using plan::NestOp;

SmallVector<Value> passOn(OpBuilder &, Location, ValueRange values) {
  return {values.front()};
}

static SmallVector<Value> widened(OpBuilder &builder, Location location,
                                  ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    if (!isa<FloatType>(value.getType()))
      return value;
    return convert(builder, location, value, computeType(value.getType()));
  });
}

SmallVector<Value> multiplyWide(OpBuilder &builder, Location location,
                                ValueRange values) {
  auto wide = widened(builder, location, values);
  return {arith::MulFOp::create(builder, location, wide[0], wide[1])};
}

std::function<SmallVector<Value>(OpBuilder &, Location, ValueRange)>
roundTo(RankedTensorType type) {
  return [element = type.getElementType()](
             OpBuilder &builder, Location location, ValueRange values) {
    return SmallVector<Value>{
        convert(builder, location, values.front(), element)};
  };
}

NestOp elementwiseNest(OpBuilder &builder, Location location,
                       const Domain &domain, ArrayRef<AffineExpr> position,
                       Type result, ArrayRef<NestRead> reads, ScalarBody then) {
  NestParts parts = domain.elementwise();
  parts.thenReads = SmallVector<NestRead>(reads);
  parts.outputMaps = {domain.thenMap(position)};
  parts.resultTypes = {result};
  return buildNest(builder, location, parts, nullptr, then);
}

Value sumNest(OpBuilder &builder, Location location, const Domain &domain,
              ArrayRef<AffineExpr> position, RankedTensorType result,
              const NestRead &read, StringRef label) {
  NestParts parts = domain.reducing(Reduction::sum);
  parts.mapReads = {read};
  parts.outputMaps = {domain.thenMap(position)};
  parts.resultTypes = {result};
  parts.label = label.str();
  return buildNest(builder, location, parts, passOn, roundTo(result))
      .getResult(0);
}

namespace {

/// A nest that copies elements of `input`, whose index `from` computes from the
/// position.
Value move(OpBuilder &builder, Operation *op, Value input,
           function_ref<SmallVector<AffineExpr>(ArrayRef<AffineExpr>)> from) {
  Type type = op->getResult(0).getType();
  Domain domain(builder.getContext());
  auto position = domain.parallel(cast<ShapedType>(type).getShape());
  NestRead read{input, domain.thenMap(from(position)), {}};
  return elementwiseNest(builder, op->getLoc(), domain, position, type, read,
                         passOn)
      .getResult(0);
}

Value lower(OpBuilder &builder, TransposeOp op) {
  return move(builder, op, op.getInput(), [&](ArrayRef<AffineExpr> position) {
    SmallVector<AffineExpr> from(position.size());
    for (auto [i, dimension] : llvm::enumerate(op.getPermutation()))
      from[dimension] = position[i];
    return from;
  });
}

Value lower(OpBuilder &builder, BroadcastOp op) {
  return move(builder, op, op.getInput(), [&](ArrayRef<AffineExpr> position) {
    SmallVector<AffineExpr> from;
    for (auto [i, dimension] : llvm::enumerate(op.getDimensions()))
      from.push_back(shapeOf(op.getInput())[i] == 1
                         ? builder.getAffineConstantExpr(0)
                         : position[dimension]);
    return from;
  });
}

Value lower(OpBuilder &builder, Elementwise op) {
  Domain domain(builder.getContext());
  Value result = op->getResult(0);
  auto position = domain.parallel(shapeOf(result));
  SmallVector<NestRead> reads;
  for (Value operand : op->getOperands())
    reads.push_back({operand, domain.thenMap(position), {}});
  bool isOurs = isa_and_present<GradusDialect>(op->getDialect());
  auto then = [&](OpBuilder &inside, Location location, ValueRange scalars) {
    if (!isOurs)
      return SmallVector<Value>{op.buildScalar(inside, scalars)};
    // Ops that expand to several scalar ops round only the final result.
    Value made = op.buildScalar(inside, widened(inside, location, scalars));
    return SmallVector<Value>{
        convert(inside, location, made, getElementTypeOrSelf(result))};
  };
  return elementwiseNest(builder, op->getLoc(), domain, position,
                         result.getType(), reads, then)
      .getResult(0);
}

Value lower(OpBuilder &builder, IotaOp op) {
  Domain domain(builder.getContext());
  auto type = op.getType();
  auto position = domain.parallel(type.getShape());
  auto then = [&](OpBuilder &inside, Location location, ValueRange) {
    Value index = emitAffine(inside, location, position[op.getAxis()]);
    if (type.getElementTypeBitWidth() < 64)
      index = arith::TruncIOp::create(inside, location, type.getElementType(),
                                      index);
    return SmallVector<Value>{index};
  };
  return elementwiseNest(builder, op.getLoc(), domain, position, type, {}, then)
      .getResult(0);
}

/// Each element draws its bits by its row-major number.
Value lower(OpBuilder &builder, RandomBitsOp op) {
  Domain domain(builder.getContext());
  auto type = op.getType();
  auto position = domain.parallel(type.getShape());
  AffineExpr place = builder.getAffineConstantExpr(0);
  for (auto [index, extent] : llvm::zip_equal(position, type.getShape()))
    place = place * extent + index;
  SmallVector<NestRead> scalars = {{op.getStep(), domain.thenMap({}), {}}};
  if (op.getFirst())
    scalars.push_back({op.getFirst(), domain.thenMap({}), {}});
  auto then = [&](OpBuilder &inside, Location location, ValueRange values) {
    Value at = emitAffine(inside, location, place);
    if (values.size() > 1)
      at = arith::AddIOp::create(inside, location, at, values[1]);
    return SmallVector<Value>{RandomBitsOp::buildBits(
        inside, location, at, values[0], op.getStream(), op.getSeed())};
  };
  return elementwiseNest(builder, op.getLoc(), domain, position, type, scalars,
                         then)
      .getResult(0);
}

/// Makes a constant a tensor, for users other than nests.
Value lower(OpBuilder &builder, arith::ConstantOp op) {
  Domain domain(builder.getContext());
  auto position = domain.parallel(shapeOf(op));
  auto then = [&](OpBuilder &inside, Location location, ValueRange) {
    return SmallVector<Value>{
        arith::ConstantOp::create(inside, location, splatOf(op))};
  };
  return elementwiseNest(builder, op.getLoc(), domain, position, op.getType(),
                         {}, then)
      .getResult(0);
}

Value lower(OpBuilder &builder, MatmulOp op) {
  Domain domain(builder.getContext());
  auto position = domain.parallel(op.getType().getShape());
  ArrayRef<int64_t> shape = shapeOf(op.getA());
  AffineExpr k = domain.reduced(op.getTransposeA() ? shape[shape.size() - 2]
                                                   : shape.back());
  auto at = [&](AffineExpr row, AffineExpr column, bool transposed) {
    auto index = SmallVector<AffineExpr>(ArrayRef(position).drop_back(2));
    if (transposed)
      std::swap(row, column);
    index.append({row, column});
    return domain.map(index);
  };
  AffineExpr m = position[position.size() - 2], n = position.back();
  NestParts parts = domain.reducing(Reduction::sum);
  parts.mapReads = {{op.getA(), at(m, k, op.getTransposeA()), {}},
                    {op.getB(), at(k, n, op.getTransposeB()), {}}};
  parts.outputMaps = {domain.thenMap(position)};
  parts.resultTypes = {op.getType()};
  return buildNest(builder, op.getLoc(), parts, multiplyWide,
                   roundTo(op.getType()))
      .getResult(0);
}

/// A mean is a sum divided by the number of terms.
Value lower(OpBuilder &builder, ReduceOp op) {
  Domain domain(builder.getContext());
  auto type = cast<RankedTensorType>(op.getType());
  auto position = domain.parallel(type.getShape());
  SmallVector<AffineExpr> from;
  double terms = 1;
  unsigned kept = 0;
  for (auto [axis, extent] : llvm::enumerate(shapeOf(op.getInput()))) {
    bool reduced = llvm::is_contained(op.getAxes(), int64_t(axis));
    from.push_back(reduced ? domain.reduced(extent) : position[kept++]);
    terms *= reduced ? extent : 1;
  }
  bool mean = op.getKind() == Reduction::mean;
  NestParts parts = domain.reducing(mean ? Reduction::sum : op.getKind());
  parts.mapReads = {{op.getInput(), domain.map(from), {}}};
  parts.outputMaps = {domain.thenMap(position)};
  parts.resultTypes = {type};
  auto finish = [&](OpBuilder &inside, Location location, ValueRange values) {
    Value sum = values[0];
    if (mean) {
      Value count = splat(inside, location, sum.getType(), terms);
      sum = isa<FloatType>(sum.getType())
                ? Value(arith::DivFOp::create(inside, location, sum, count))
                : Value(arith::DivSIOp::create(inside, location, sum, count));
    }
    if (isa<FloatType>(sum.getType()))
      sum = convert(inside, location, sum, type.getElementType());
    return SmallVector<Value>{sum};
  };
  // Partial sums of narrow elements are stored in the wide type.
  return buildNest(builder, op.getLoc(), parts, widened, finish).getResult(0);
}

/// Returns the values that stand for an op's results; none for an unknown op.
/// Op list: it calls the overloads of `lower`.
SmallVector<Value> lowerOp(OpBuilder &builder, Operation *op, int64_t lanes) {
  Value one = llvm::TypeSwitch<Operation *, Value>(op)
                  .Case<TransposeOp, BroadcastOp, IotaOp, RandomBitsOp,
                        MatmulOp, ReduceOp, Elementwise>(
                      [&](auto known) { return lower(builder, known); })
                  .Default(Value());
  if (!one)
    one = lowerIndexingOp(builder, op);
  if (one)
    return {one};
  SmallVector<Value> several = lowerCollective(builder, op);
  if (several.empty())
    several = lowerSelection(builder, op);
  return several.empty() ? lowerWindowOp(builder, op, lanes) : several;
}

/// Whether the rest of codegen reads an op as it is.
/// Op list: it says which ops plans keep; each other needs a nest.
bool stays(Operation *op) {
  return isa<ReadOp, WriteOp, ReturnOp, arith::ConstantOp>(op) ||
         op->hasTrait<NamesMemory>() ||
         isa<plan::PlanDialect>(op->getDialect());
}

LogicalResult checkTypes(Operation *op) {
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return op->emitError()
             << "'" << op->getName() << "' has the result " << type
             << "; code generation needs tensors of static size";
  }
  return success();
}

/// Reports nests that no target supports as errors of their op, since emitters
/// no longer know it.
LogicalResult checkNests(Block::iterator first, Operation *op) {
  for (Operation &lowered : llvm::make_range(first, op->getIterator()))
    if (auto nest = dyn_cast<NestOp>(lowered))
      if (std::string wrong = unsupportedIn(nest); !wrong.empty())
        return op->emitError() << "'" << op->getName() << "' " << wrong;
  return success();
}

/// Whether the nest is a guarded copy, as convolutions make of their inputs.
bool isPadding(NestOp nest) {
  return llvm::any_of(nest.getGuards(),
                      [](Attribute guard) { return !isa<UnitAttr>(guard); }) &&
         llvm::hasSingleElement(nest.getThen().front());
}

/// Names the nests from `first` on for the op they come from: "matmul", "add".
/// Most moves have no name: they are read in place of the operand of a nest.
void labelNests(Block::iterator first, Operation *op) {
  if (op->hasTrait<KeepsAllElements>() || isa<IotaOp, SliceOp>(op))
    return;
  StringRef name = op->getName().stripDialect();
  if (isa<arith::ArithDialect>(op->getDialect()) && !name.consume_back("f"))
    name.consume_back("i");
  for (Operation &lowered : llvm::make_range(first, op->getIterator()))
    if (auto nest = dyn_cast<NestOp>(lowered))
      setLabel(nest, isPadding(nest) ? "pad" : nest.getKept() ? "copy" : name);
}

struct LowerToNests : impl::LowerToNestsBase<LowerToNests> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      if (failed(lowerGraph(graph)))
        return signalPassFailure();
  }

  LogicalResult lowerGraph(GraphOp graph) {
    Block &block = graph.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block))
      if (!stays(&op) && failed(replace(&op)))
        return failure();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        settleConstant(constant);
    return success();
  }

  LogicalResult replace(Operation *op) {
    if (failed(checkTypes(op)))
      return failure();
    if (op->use_empty() && isMemoryEffectFree(op))
      return op->erase(), success();
    OpBuilder builder(op);
    Operation *before = op->getPrevNode();
    SmallVector<Value> values = lowerOp(builder, op, lanes);
    auto first =
        before ? std::next(before->getIterator()) : op->getBlock()->begin();
    labelNests(first, op);
    if (values.empty())
      return op->emitError() << "code generation has no loop nest for '"
                             << op->getName() << "'";
    if (failed(checkNests(first, op)))
      return failure();
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }

  /// Nests contain splats as scalars; for other users a nest makes the tensor.
  void settleConstant(arith::ConstantOp constant) {
    OpBuilder builder(constant);
    if (!constant->use_empty() && splatOf(constant))
      constant.replaceAllUsesWith(lower(builder, constant));
    if (constant->use_empty())
      constant.erase();
  }
};

} // namespace
} // namespace gradus

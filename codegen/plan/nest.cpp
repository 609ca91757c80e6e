// Builds nests from parts; see nest.h.

#include "codegen/plan/nest.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

namespace gradus {
using namespace mlir;
using plan::NestOp;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

int64_t product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    if (extent == 0)
      return 0;
    else if (llvm::MulOverflow(result, extent, result) || result > kMostPoints)
      result = kMostPoints;
  return result;
}

bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         isMemoryEffectFree(op) &&
         (isa<Elementwise>(op) || op->hasTrait<OpTrait::Elementwise>()) &&
         llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && isMemoryEffectFree(&op) &&
        !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

TypedAttr splatOf(Value value) {
  SplatElementsAttr splat;
  if (!isa<RankedTensorType>(value.getType()) ||
      !matchPattern(value, m_Constant(&splat)))
    return {};
  return cast<TypedAttr>(splat.getSplatValue<Attribute>());
}

//===-- parts -------------------------------------------------------------===//

NestParts partsOf(NestOp nest) {
  NestParts parts;
  parts.parallel = SmallVector<int64_t>(nest.getParallel());
  parts.reduced = SmallVector<int64_t>(nest.getReduced());
  unsigned index = 0;
  for (Value value : nest.getMapInputs()) {
    parts.mapReads.push_back(
        {value, nest.getInputMap(index), nest.getGuard(index)});
    ++index;
  }
  for (Value value : nest.getThenInputs()) {
    parts.thenReads.push_back(
        {value, nest.getInputMap(index), nest.getGuard(index)});
    ++index;
  }
  for (Attribute kind : nest.getCombine())
    parts.combine.push_back(cast<ReductionAttr>(kind).getValue());
  for (Attribute map : nest.getOutputMaps())
    parts.outputMaps.push_back(cast<AffineMapAttr>(map).getValue());
  parts.resultTypes = SmallVector<Type>(nest.getResultTypes());
  parts.outs = SmallVector<Value>(nest.getOuts());
  parts.label = labelOf(nest);
  parts.isKept = nest.getKept();
  return parts;
}

StringRef labelOf(NestOp nest) { return nest.getLabel().value_or(StringRef()); }

void setLabel(NestOp nest, StringRef label) {
  if (!label.empty())
    nest.setLabel(label);
}

std::string joinLabels(StringRef a, StringRef b) {
  if (a.empty() || b.empty() || a == b || a.ends_with("+..."))
    return (a.empty() ? b : a).str();
  if (a.count('+') >= 2)
    return (a + "+...").str();
  return joinLabels((a + "+" + b.split('+').first).str(), b.split('+').second);
}

namespace {

/// The reads that are kept, and what became of each given read: one of the kept
/// ones, or a scalar constant.
struct KeptReads {
  explicit KeptReads(ArrayRef<NestRead> given) {
    for (const NestRead &read : given) {
      TypedAttr splat = read.isGuarded() ? TypedAttr() : splatOf(read.value);
      auto found = llvm::find(kept, read);
      constants.push_back(splat);
      position.push_back(found - kept.begin());
      if (!splat && found == kept.end())
        kept.push_back(read);
    }
  }

  /// The values of the given reads, from the arguments for the kept ones.
  SmallVector<Value> arguments(OpBuilder &builder, Location location,
                               ValueRange keptArguments) const {
    SmallVector<Value> values;
    for (auto [constant, at] : llvm::zip(constants, position))
      values.push_back(
          constant ? arith::ConstantOp::create(builder, location, constant)
                   : keptArguments[at]);
    return values;
  }

  SmallVector<NestRead> kept;
  SmallVector<TypedAttr> constants;
  SmallVector<unsigned> position;
};

/// Fills a region: arguments of the given types, the body, a yield.
void fillRegion(OpBuilder &builder, Location location, Region &region,
                ArrayRef<Type> combined, const KeptReads &reads,
                ScalarBody body) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&region);
  for (Type type : combined)
    block->addArgument(type, location);
  for (const NestRead &read : reads.kept)
    block->addArgument(getElementTypeOrSelf(read.value), location);
  auto arguments =
      SmallVector<Value>(block->getArguments().take_front(combined.size()));
  arguments.append(reads.arguments(
      builder, location, block->getArguments().drop_front(combined.size())));
  plan::YieldOp::create(builder, location, body(builder, location, arguments));
}

/// The attributes with the maps and guards of operands.
struct MapAttributes {
  SmallVector<Attribute> maps, guards;

  MapAttributes(Builder &builder, ArrayRef<NestRead> reads) {
    for (const NestRead &read : reads) {
      maps.push_back(AffineMapAttr::get(read.map));
      guards.push_back(read.isGuarded()
                           ? Attribute(IntegerSetAttr::get(read.guard))
                           : Attribute(builder.getUnitAttr()));
    }
  }
};

SmallVector<Value> valuesOf(ArrayRef<NestRead> reads) {
  return llvm::map_to_vector(reads,
                             [](const NestRead &read) { return read.value; });
}

/// The nest with operands and attributes, but empty regions.
NestOp buildFrame(OpBuilder &builder, Location location, const NestParts &parts,
                  const KeptReads &mapReads, const KeptReads &thenReads) {
  MapAttributes map(builder, mapReads.kept), then(builder, thenReads.kept);
  llvm::append_range(map.guards, then.guards);
  SmallVector<Attribute> combine;
  for (Reduction kind : parts.combine)
    combine.push_back(ReductionAttr::get(builder.getContext(), kind));
  return NestOp::create(
      builder, location, parts.resultTypes, parts.parallel, parts.reduced,
      valuesOf(mapReads.kept), valuesOf(thenReads.kept), parts.outs,
      builder.getArrayAttr(map.maps), builder.getArrayAttr(then.maps),
      builder.getAffineMapArrayAttr(parts.outputMaps),
      builder.getArrayAttr(map.guards), builder.getArrayAttr(combine),
      /*label=*/StringAttr());
}

} // namespace

NestOp buildNest(OpBuilder &builder, Location location, const NestParts &parts,
                 ScalarBody map, ScalarBody then) {
  KeptReads mapReads(parts.mapReads), thenReads(parts.thenReads);
  NestOp nest = buildFrame(builder, location, parts, mapReads, thenReads);
  setLabel(nest, parts.label);
  nest.setKept(parts.isKept);
  SmallVector<Type> combined;
  if (!parts.combine.empty()) {
    fillRegion(builder, location, nest.getMap(), {}, mapReads, map);
    for (Value value : nest.getMap().front().getTerminator()->getOperands())
      combined.push_back(value.getType());
  }
  fillRegion(builder, location, nest.getThen(), combined, thenReads, then);
  return nest;
}

Value copyWithLast(OpBuilder &builder, Location location, Value weight,
                   unsigned dim, int64_t extent) {
  auto type = cast<RankedTensorType>(weight.getType());
  int64_t own = type.getDimSize(dim);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  shape.push_back(extent);
  Domain domain(builder.getContext());
  SmallVector<AffineExpr> to = domain.parallel(shape), from = to;
  from.insert(from.begin() + dim, from.pop_back_val());
  NestParts parts = domain.elementwise();
  IntegerSet guard;
  if (own < extent)
    guard = IntegerSet::get(parts.dims(), 0, {own - 1 - to.back()},
                            {/*equality=*/false});
  parts.thenReads = {{weight, domain.thenMap(from), guard}};
  parts.outputMaps = {domain.thenMap(to)};
  parts.resultTypes = {type.clone(shape)};
  parts.isKept = true;
  auto same = [](OpBuilder &, Location, ValueRange values) {
    return SmallVector<Value>(values);
  };
  return buildNest(builder, location, parts, nullptr, same).getResult(0);
}

SmallVector<Value> copyBody(OpBuilder &builder, Region &region,
                            ValueRange arguments,
                            function_ref<Value(unsigned)> index) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &op : region.front().without_terminator()) {
    if (auto ask = dyn_cast<plan::IndexOp>(op))
      mapping.map(ask.getResult(), index(ask.getDim()));
    else
      builder.clone(op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value value : region.front().getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

//===-- indices -----------------------------------------------------------===//

Value indexOf(OpBuilder &builder, Location location, unsigned dim) {
  return plan::IndexOp::create(builder, location, builder.getI64Type(),
                               builder.getI64IntegerAttr(dim));
}

/// Whether an expression over indices, which are non-negative, is non-negative.
static bool isNonNegative(AffineExpr expression) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return constant.getValue() >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  return !binary || binary.getKind() == AffineExprKind::Mod ||
         (isNonNegative(binary.getLHS()) && isNonNegative(binary.getRHS()));
}

/// `a` modulo a positive constant; the result is non-negative.
static Value emitModulo(OpBuilder &builder, Location location, Value a,
                        int64_t divisor, bool nonNegative) {
  if (llvm::isPowerOf2_64(divisor)) {
    Value mask = splat(builder, location, a.getType(), divisor - 1);
    return arith::AndIOp::create(builder, location, a, mask);
  }
  Value b = splat(builder, location, a.getType(), divisor);
  Value rest = arith::RemSIOp::create(builder, location, a, b);
  if (nonNegative)
    return rest;
  Value positive = arith::AddIOp::create(builder, location, rest, b);
  return arith::RemSIOp::create(builder, location, positive, b);
}

/// `a` divided by a positive constant, rounded down.
static Value emitFloorDivide(OpBuilder &builder, Location location, Value a,
                             int64_t divisor, bool nonNegative) {
  if (llvm::isPowerOf2_64(divisor)) {
    Value shift = splat(builder, location, a.getType(), llvm::Log2_64(divisor));
    return arith::ShRSIOp::create(builder, location, a, shift);
  }
  if (!nonNegative) {
    Value rest = emitModulo(builder, location, a, divisor, false);
    a = arith::SubIOp::create(builder, location, a, rest);
  }
  Value b = splat(builder, location, a.getType(), divisor);
  return arith::DivSIOp::create(builder, location, a, b);
}

Value emitAffine(OpBuilder &builder, Location location, AffineExpr expression) {
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return indexOf(builder, location, dim.getPosition());
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return splat(builder, location, builder.getI64Type(), constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Value a = emitAffine(builder, location, binary.getLHS());
  bool nonNegative = isNonNegative(binary.getLHS());
  if (binary.getKind() == AffineExprKind::Mod)
    return emitModulo(builder, location, a,
                      cast<AffineConstantExpr>(binary.getRHS()).getValue(),
                      nonNegative);
  if (binary.getKind() == AffineExprKind::FloorDiv)
    return emitFloorDivide(builder, location, a,
                           cast<AffineConstantExpr>(binary.getRHS()).getValue(),
                           nonNegative);
  Value b = emitAffine(builder, location, binary.getRHS());
  if (binary.getKind() == AffineExprKind::Add)
    return arith::AddIOp::create(builder, location, a, b);
  return arith::MulIOp::create(builder, location, a, b);
}

Value emitInside(OpBuilder &builder, Location location, IntegerSet set) {
  Value zero = splat(builder, location, builder.getI64Type(), 0);
  Value inside;
  for (auto [position, constraint] : llvm::enumerate(set.getConstraints())) {
    Value value = emitAffine(builder, location, constraint);
    auto predicate = set.isEq(position) ? arith::CmpIPredicate::eq
                                        : arith::CmpIPredicate::sge;
    Value holds =
        arith::CmpIOp::create(builder, location, predicate, value, zero);
    inside = inside ? arith::AndIOp::create(builder, location, inside, holds)
                    : holds;
  }
  return inside;
}

//===-- domains -----------------------------------------------------------===//

AffineExpr Domain::constant(int64_t value) const {
  return getAffineConstantExpr(value, context_);
}

AffineExpr Domain::parallel(int64_t extent) {
  if (extent == 1)
    return constant(0);
  parallel_.push_back(extent);
  return getAffineDimExpr(parallel_.size() - 1, context_);
}

AffineExpr Domain::reduced(int64_t extent) {
  if (extent == 1)
    return constant(0);
  reduced_.push_back(extent);
  return getAffineDimExpr(parallel_.size() + reduced_.size() - 1, context_);
}

SmallVector<AffineExpr> Domain::parallel(ArrayRef<int64_t> shape) {
  return llvm::map_to_vector(shape,
                             [&](int64_t extent) { return parallel(extent); });
}

SmallVector<AffineExpr> Domain::reduced(ArrayRef<int64_t> shape) {
  return llvm::map_to_vector(shape,
                             [&](int64_t extent) { return reduced(extent); });
}

AffineMap Domain::map(ArrayRef<AffineExpr> results) const {
  // A reduction over unit dimensions only keeps one of them; see reducing().
  unsigned reducedDims = std::max<size_t>(reduced_.size(), 1);
  return AffineMap::get(parallel_.size() + reducedDims, 0, results, context_);
}

AffineMap Domain::thenMap(ArrayRef<AffineExpr> results) const {
  return AffineMap::get(parallel_.size(), 0, results, context_);
}

NestParts Domain::elementwise() const {
  NestParts parts;
  parts.parallel = parallel_;
  return parts;
}

NestParts Domain::reducing(ArrayRef<Reduction> combine) const {
  NestParts parts = elementwise();
  parts.reduced = reduced_;
  if (parts.reduced.empty())
    parts.reduced.push_back(1);
  parts.combine.append(combine.begin(), combine.end());
  return parts;
}

} // namespace gradus

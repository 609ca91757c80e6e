// Index arithmetic and control flow of GPU kernels.

#include "codegen/gpu/builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;
using Is = arith::CmpIPredicate;

Type gradus::gpuMemoryType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return element;
  unsigned width = std::max(8u, integer.getWidth());
  return IntegerType::get(element.getContext(), width);
}

Type gradus::gpuValueType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), integer.getWidth())
                 : element;
}

bool gradus::isNarrowGpuFloat(Type type) {
  return type.isBF16() || type.isF16();
}

//===-- arithmetic --------------------------------------------------------===//

/// Sums and products of positions never overflow, which lets LLVM split
/// addresses into parts that are computed separately.
static constexpr auto kExact = arith::IntegerOverflowFlags::nsw;

static Value cast(GpuBuilder &b, Type type, Value value) {
  return b.createOrFold<arith::IndexCastOp>(type, value);
}

Value GpuBuilder::position(Value index) {
  return has32Bits_ ? cast(*this, getI32Type(), index) : index;
}

Value GpuBuilder::index(Value position) {
  return position.getType().isIndex() ? position
                                      : cast(*this, getIndexType(), position);
}

Value GpuBuilder::i64(Value position) {
  return position.getType().isIndex()
             ? cast(*this, getI64Type(), position)
             : createOrFold<arith::ExtSIOp>(getI64Type(), position);
}

Value GpuBuilder::number(int64_t value) {
  if (has32Bits_)
    return arith::ConstantIntOp::create(*this, value, 32);
  return arith::ConstantIndexOp::create(*this, value);
}

Value GpuBuilder::add(Value x, Value y) {
  return createOrFold<arith::AddIOp>(x, y, kExact);
}

Value GpuBuilder::mul(Value x, int64_t factor) {
  return createOrFold<arith::MulIOp>(x, number(factor), kExact);
}

Value GpuBuilder::quotient(Value x, int64_t divisor) {
  return createOrFold<arith::DivUIOp>(x, number(divisor));
}

Value GpuBuilder::remainder(Value x, int64_t divisor) {
  return createOrFold<arith::RemUIOp>(x, number(divisor));
}

Value GpuBuilder::isBelow(Value x, Value limit) {
  return createOrFold<arith::CmpIOp>(Is::slt, x, limit);
}

/// floor(x / by), also for negative x.
static Value floorDivide(GpuBuilder &b, Value x, int64_t by) {
  if (llvm::isPowerOf2_64(by))
    return b.createOrFold<arith::ShRSIOp>(x, b.number(llvm::Log2_64(by)));
  Value quotient = b.createOrFold<arith::DivSIOp>(x, b.number(by));
  Value rest = b.createOrFold<arith::RemSIOp>(x, b.number(by));
  Value below = b.createOrFold<arith::AddIOp>(quotient, b.number(-1));
  return b.createOrFold<arith::SelectOp>(b.isBelow(rest, b.number(0)), below,
                                         quotient);
}

Value GpuBuilder::evaluate(AffineExpr expression, ValueRange positions) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return number(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return positions[dim.getPosition()];
  auto both = cast<AffineBinaryOpExpr>(expression);
  Value x = evaluate(both.getLHS(), positions);
  if (both.getKind() == AffineExprKind::Add)
    return add(x, evaluate(both.getRHS(), positions));
  if (both.getKind() == AffineExprKind::Mul)
    return createOrFold<arith::MulIOp>(x, evaluate(both.getRHS(), positions),
                                       kExact);
  int64_t by = cast<AffineConstantExpr>(both.getRHS()).getValue();
  if (both.getKind() == AffineExprKind::CeilDiv)
    return floorDivide(*this, add(x, number(by - 1)), by);
  Value quotient = floorDivide(*this, x, by);
  return both.getKind() == AffineExprKind::Mod
             ? createOrFold<arith::SubIOp>(x, mul(quotient, by), kExact)
             : quotient;
}

Value GpuBuilder::evaluate(const Linear &linear, ValueRange positions) {
  Value sum = number(linear.offset);
  for (auto [position, stride] : llvm::zip(positions, linear.strides))
    if (stride)
      sum = add(sum, mul(position, stride));
  for (auto &[expression, scale] : linear.terms)
    sum = add(sum, mul(evaluate(expression, positions), scale));
  return sum;
}

/// Returns the limit if one condition says that a number is not negative and
/// the other that the same number does not exceed a limit.
static std::optional<int64_t> limitOf(const Condition &least,
                                      const Condition &most) {
  auto isOpposite = [](int64_t one, int64_t other) { return one == -other; };
  auto isOppositeTerm = [](auto &one, auto &other) {
    return one.first == other.first && one.second == -other.second;
  };
  int64_t limit = least.value.offset + most.value.offset;
  bool areEnds =
      !least.equality && !most.equality && limit >= 0 &&
      llvm::equal(least.value.strides, most.value.strides, isOpposite) &&
      llvm::equal(least.value.terms, most.value.terms, isOppositeTerm);
  return areEnds ? std::optional(limit) : std::nullopt;
}

/// Both ends of a range are checked by one unsigned comparison.
Value GpuBuilder::holds(ArrayRef<Condition> conditions, ValueRange positions) {
  Value all;
  SmallVector<Condition> left(conditions);
  while (!left.empty()) {
    Condition condition = left.front();
    left.erase(left.begin());
    Value value = evaluate(condition.value, positions), limit = number(0);
    Is is = condition.equality ? Is::eq : Is::sge;
    auto *other = llvm::find_if(left, [&](const Condition &each) {
      return limitOf(condition, each).has_value();
    });
    if (other != left.end()) {
      limit = number(*limitOf(condition, *other));
      is = Is::ule;
      left.erase(other);
    }
    Value one = createOrFold<arith::CmpIOp>(is, value, limit);
    all = all ? createOrFold<arith::AndIOp>(all, one) : one;
  }
  return all;
}

Value GpuBuilder::limit(AffineMap map, bool largest, ValueRange positions) {
  Value chosen;
  for (AffineExpr result : map.getResults()) {
    Value value = evaluate(result, positions);
    if (!chosen)
      chosen = value;
    else
      chosen = largest ? createOrFold<arith::MaxSIOp>(chosen, value)
                       : createOrFold<arith::MinSIOp>(chosen, value);
  }
  return chosen;
}

Values GpuBuilder::positionsOf(Value n, ArrayRef<int64_t> extents) {
  Values positions(extents.size());
  int first = 0; // the dimension that gets the final quotient
  while (first + 1 < int(extents.size()) && extents[first] == 1)
    ++first;
  for (int d = int(extents.size()) - 1; d >= 0; --d)
    if (d <= first || extents[d] == 1) {
      positions[d] = d == first ? n : number(0);
    } else {
      Value left = quotient(n, extents[d]);
      positions[d] =
          llvm::isPowerOf2_64(uint64_t(extents[d]))
              ? remainder(n, extents[d])
              : createOrFold<arith::SubIOp>(n, mul(left, extents[d]), kExact);
      n = left;
    }
  return positions;
}

//===-- control flow ------------------------------------------------------===//

void GpuBuilder::loop(Value first, Value end, Value step,
                      function_ref<void(Value)> body) {
  loop(first, end, step, {}, [&](Value position, ValueRange) {
    body(position);
    return Values();
  });
}

Values GpuBuilder::loop(Value first, Value end, Value step, Values values,
                        function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, first, end, step, values);
  OpBuilder::InsertionGuard guard(*this);
  if (values.empty()) // the loop has a yield already
    setInsertionPoint(loop.getBody()->getTerminator());
  else
    setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!values.empty())
    scf::YieldOp::create(*this, next);
  return Values(loop.getResults());
}

void GpuBuilder::when(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

Value GpuBuilder::choose(Value condition, function_ref<Value()> then,
                         Value otherwise) {
  auto branch = scf::IfOp::create(*this, TypeRange(otherwise.getType()),
                                  condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(*this, then());
  setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(*this, otherwise);
  return branch.getResult(0);
}

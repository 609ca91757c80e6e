// Emits addresses, guards, and the best instruction for each access.

#include "codegen/cpu/memory.h"

#include "codegen/cpu/lanes.h"
#include "codegen/cpu/ops.h"

#include "llvm/IR/Module.h"

using namespace llvm;
using namespace gradus;
using mlir::AffineExpr;
using mlir::AffineExprKind;

NestMemory::NestMemory(CpuBuilder &builder, const Nest &nest,
                       const Position &position, PointerOf pointerOf)
    : b(builder), nest(nest), position(position), pointerOf(pointerOf) {}

void NestMemory::forget() {
  loaded.clear();
  bases.clear();
}

bool NestMemory::variesByLane(const Access &access) const {
  return position.lanes > 1 && access.dependsOn(position.vectorDim);
}

//===-- numbers -----------------------------------------------------------===//

/// offset + sum strides * position in lane 0, without the terms.
Value *NestMemory::uniformPart(const Linear &linear, const Instance &at) {
  Value *sum = b.getInt64(0);
  for (unsigned dim = 0; dim < nest.dims(); ++dim)
    if (linear.strides[dim])
      sum =
          b.CreateNSWAdd(sum, b.CreateNSWMul(position.base[dim],
                                             b.getInt64(linear.strides[dim])));
  int64_t constant = linear.offset;
  for (unsigned dim = 0; dim < nest.dims(); ++dim)
    constant += linear.strides[dim] * at.offset[dim];
  return b.CreateNSWAdd(sum, b.getInt64(constant));
}

/// The additional part of each lane, as 32-bit integers; null if none.
Value *NestMemory::lanePart(const Linear &linear, const Instance &at) {
  if (position.lanes == 1 || linear.strides[position.vectorDim] == 0)
    return nullptr;
  Constant *iota = b.iota(position.lanes);
  return b.CreateMul(
      iota, b.integer(iota->getType(), linear.strides[position.vectorDim]));
}

/// x + y: i64 if both are the same in all lanes, else a vector of i32.
static Value *sum(CpuBuilder &b, Value *x, Value *y) {
  auto isVector = [](Value *v) { return v->getType()->isVectorTy(); };
  if (isVector(x) == isVector(y))
    return b.CreateAdd(x, y);
  if (isVector(y))
    std::swap(x, y);
  return b.CreateAdd(x, b.splat(b.CreateTrunc(y, b.getInt32Ty()), lanesOf(x)));
}

Value *NestMemory::evaluate(const Linear &linear, const Instance &at) {
  Value *total = uniformPart(linear, at);
  if (Value *lanes = lanePart(linear, at))
    total = sum(b, lanes, total);
  for (auto &[expression, scale] : linear.terms) {
    Value *term = evaluate(expression, at);
    total = sum(b, total, b.CreateMul(term, b.integer(term->getType(), scale)));
  }
  return total;
}

/// floor(x / y) for y > 0.
static Value *floorDivide(CpuBuilder &b, Value *x, int64_t y) {
  Type *type = x->getType();
  if (isPowerOf2_64(y))
    return b.CreateAShr(x, b.integer(type, Log2_64(y)));
  Value *divisor = b.integer(type, y), *quotient = b.CreateSDiv(x, divisor);
  Value *rest = b.CreateSub(x, b.CreateMul(quotient, divisor));
  Value *negative = b.CreateICmpSLT(rest, b.integer(type, 0));
  return b.CreateAdd(quotient, b.CreateSExt(negative, type));
}

static Value *floorRemainder(CpuBuilder &b, Value *x, int64_t y) {
  Type *type = x->getType();
  if (isPowerOf2_64(y))
    return b.CreateAnd(x, b.integer(type, y - 1));
  return b.CreateSub(x, b.CreateMul(floorDivide(b, x, y), b.integer(type, y)));
}

/// Evaluates a division or remainder by a constant.
Value *NestMemory::evaluate(AffineExpr expression, const Instance &at) {
  auto both = cast<mlir::AffineBinaryOpExpr>(expression);
  Value *x = evaluate(flatten(both.getLHS(), nest.dims()), at);
  int64_t y = cast<mlir::AffineConstantExpr>(both.getRHS()).getValue();
  if (both.getKind() == AffineExprKind::Mod)
    return floorRemainder(b, x, y);
  if (both.getKind() == AffineExprKind::CeilDiv)
    x = b.CreateAdd(x, b.integer(x->getType(), y - 1));
  return floorDivide(b, x, y);
}

Value *NestMemory::index(unsigned dim, const Instance &at) {
  Value *first = b.CreateNSWAdd(position.base[dim], b.getInt64(at.offset[dim]));
  if (!isLane(dim))
    return first;
  Value *iota = b.CreateZExt(b.iota(position.lanes),
                             b.wide(b.getInt64Ty(), position.lanes));
  return b.CreateAdd(b.splat(first, position.lanes), iota);
}

//===-- guards ------------------------------------------------------------===//

Value *NestMemory::holds(const Condition &condition, const Instance &at) {
  auto predicate = condition.equality ? CmpInst::ICMP_EQ : CmpInst::ICMP_SGE;
  Value *lanes = lanePart(condition.value, at);
  if (lanes && condition.value.terms.empty()) {
    // A constant vector against a uniform limit needs only one comparison.
    Value *limit = b.CreateNeg(uniformPart(condition.value, at));
    return b.CreateICmp(
        predicate, lanes,
        b.splat(b.CreateTrunc(limit, b.getInt32Ty()), position.lanes));
  }
  Value *value = evaluate(condition.value, at);
  return b.CreateICmp(predicate, value, b.integer(value->getType(), 0));
}

static bool isTrue(Value *condition) {
  auto *constant = dyn_cast_or_null<Constant>(condition);
  return constant && constant->isAllOnesValue();
}

/// The guard of an access; null if the element is always read.
Value *NestMemory::guard(const Access &access, const Instance &at) {
  Value *all = nullptr;
  for (const Condition &condition : access.guard) {
    Value *one = holds(condition, at);
    if (isTrue(one))
      continue;
    Value *both[] = {all ? all : one, one};
    b.matchLanes(both);
    all = all ? b.CreateAnd(both[0], both[1]) : one;
  }
  return all;
}

/// The lanes to access; null for all.
Value *NestMemory::mask(Value *guard, const Instance &at) {
  if (!guard)
    return at.mask;
  guard = b.splat(guard, position.lanes);
  return at.mask ? b.CreateAnd(guard, at.mask) : guard;
}

//===-- addresses ---------------------------------------------------------===//

/// The address in lane 0. The part that depends on the loops is computed once
/// for all instances, the terms for each.
Value *NestMemory::address(const Access &access, const Instance &at) {
  Type *type = memoryType(b, access.element);
  Value *&base = bases[&access.place];
  if (!base) {
    Instance origin{SmallVector<int64_t>(nest.dims(), 0)};
    base =
        b.CreateGEP(type, pointerOf(access), uniformPart(access.place, origin));
  }
  int64_t constant = 0;
  for (unsigned dim = 0; dim < nest.dims(); ++dim)
    constant += access.place.strides[dim] * at.offset[dim];
  Value *address =
      constant ? b.CreateGEP(type, base, b.getInt64(constant)) : base;
  for (auto &[expression, scale] : access.place.terms)
    if (position.lanes == 1 ||
        !expression.isFunctionOfDim(position.vectorDim)) {
      Value *term = b.CreateNSWMul(evaluate(expression, at), b.getInt64(scale));
      address = b.CreateGEP(type, address, term);
    }
  return address;
}

/// The address of each lane.
Value *NestMemory::addresses(const Access &access, const Instance &at) {
  Value *lanes = lanePart(access.place, at);
  Value *offsets =
      lanes ? lanes : Constant::getNullValue(b.iota(position.lanes)->getType());
  for (auto &[expression, scale] : access.place.terms)
    if (expression.isFunctionOfDim(position.vectorDim)) {
      Value *term = evaluate(expression, at);
      offsets = b.CreateAdd(
          offsets, b.CreateMul(term, b.integer(term->getType(), scale)));
    }
  return b.CreateGEP(memoryType(b, access.element), address(access, at),
                     offsets);
}

//===-- reads and writes --------------------------------------------------===//

static Align alignmentOf(Type *type) {
  return Align(type->getScalarSizeInBits() / 8);
}

/// The address of a constant zero.
static Value *zeros(CpuBuilder &b) {
  Module &module = *b.GetInsertBlock()->getModule();
  if (GlobalVariable *made = module.getGlobalVariable("zeros", true))
    return made;
  Type *type = b.getInt64Ty();
  return new GlobalVariable(module, type, true, GlobalValue::InternalLinkage,
                            Constant::getNullValue(type), "zeros");
}

/// Reads one element. If the guard fails it reads a constant zero instead,
/// which needs no branch.
Value *NestMemory::readOne(const Access &access, const Instance &at) {
  Type *type = memoryType(b, access.element);
  Value *from = address(access, at);
  if (Value *condition = guard(access, at))
    from = b.CreateSelect(condition, from, zeros(b));
  return b.CreateAlignedLoad(type, from, alignmentOf(type));
}

Value *NestMemory::readNext(const Access &access, const Instance &at) {
  Type *type = b.wide(memoryType(b, access.element), position.lanes);
  Value *from = address(access, at);
  if (Value *lanes = mask(guard(access, at), at))
    return b.CreateMaskedLoad(type, from, alignmentOf(type), lanes,
                              Constant::getNullValue(type));
  return b.CreateAlignedLoad(type, from, alignmentOf(type));
}

/// Reads a vector of which only the first `present` elements are in memory.
Value *NestMemory::readFirst(Type *type, Value *from, unsigned lanes,
                             int64_t present) {
  Type *vector = b.wide(type, lanes);
  if (present >= lanes)
    return b.CreateAlignedLoad(vector, from, alignmentOf(type));
  if (present <= 0)
    return Constant::getNullValue(vector);
  Value *some =
      b.CreateICmpULT(b.iota(lanes), b.splat(b.getInt32(present), lanes));
  return b.CreateMaskedLoad(vector, from, alignmentOf(type), some,
                            Constant::getNullValue(vector));
}

/// Reads whole vectors and picks the lanes, which for small strides is far
/// cheaper than a gather.
Value *NestMemory::readStrided(const Access &access, const Instance &at,
                               int64_t by) {
  Type *type = memoryType(b, access.element);
  unsigned lanes = position.lanes;
  int64_t present = ((at.lanes < 0 ? lanes : at.lanes) - 1) * by + 1;
  Value *from = address(access, at), *all = nullptr;
  for (int64_t part = 0; part < by; ++part) {
    Value *piece =
        readFirst(type, b.CreateConstGEP1_64(type, from, part * lanes), lanes,
                  present - part * lanes);
    // Lane i is element i * by: new lanes from this part, the others as before.
    SmallVector<int> picked;
    for (unsigned i = 0; i < lanes; ++i) {
      int64_t within = i * by - part * lanes;
      bool here = within >= 0 && within < lanes;
      picked.push_back(here  ? within + (all ? lanes : 0)
                       : all ? int(i)
                             : PoisonMaskElem);
    }
    all = all ? b.CreateShuffleVector(all, piece, picked)
              : b.CreateShuffleVector(piece, picked);
  }
  return all;
}

/// Reads each element once and repeats it in `by` lanes.
Value *NestMemory::readRepeated(const Access &access, const Instance &at,
                                int64_t by) {
  Type *type = memoryType(b, access.element);
  Value *from = address(access, at);
  for (auto &[expression, scale] : access.place.terms)
    if (expression.isFunctionOfDim(position.vectorDim)) {
      auto quotient = cast<mlir::AffineBinaryOpExpr>(expression);
      Value *first = uniformPart(flatten(quotient.getLHS(), nest.dims()), at);
      from = b.CreateGEP(type, from, floorDivide(b, first, by));
    }
  int64_t present = at.lanes < 0 ? position.lanes : at.lanes;
  unsigned count = position.lanes / by;
  Value *few = readFirst(type, from, count, divideCeil(present, by));
  SmallVector<int> repeated;
  for (unsigned i = 0; i < position.lanes; ++i)
    repeated.push_back(i / by);
  return count == 1 ? b.splat(few, position.lanes)
                    : b.CreateShuffleVector(few, repeated);
}

Value *NestMemory::gather(const Access &access, const Instance &at) {
  Type *type = b.wide(memoryType(b, access.element), position.lanes);
  return b.CreateMaskedGather(type, addresses(access, at), alignmentOf(type),
                              mask(guard(access, at), at),
                              Constant::getNullValue(type));
}

Value *NestMemory::readLanes(const Access &access, const Instance &at) {
  LaneStep step = laneStep(nest, access, position.vectorDim, position.lanes);
  bool known = at.lanes != 0 && access.guard.empty();
  if (step.kind == LaneStep::next)
    return readNext(access, at);
  if (step.kind == LaneStep::strided && known)
    return readStrided(access, at, step.by);
  if (step.kind == LaneStep::repeated && known)
    return readRepeated(access, at, step.by);
  return gather(access, at);
}

Value *NestMemory::read(const Access &access, const Instance &at) {
  Value *value =
      variesByLane(access) ? readLanes(access, at) : readOne(access, at);
  if (!access.element.isInteger(1))
    return value;
  return b.CreateICmpNE(value, Constant::getNullValue(value->getType()));
}

Value *NestMemory::load(unsigned i, const Instance &at) {
  if (Value *early = hoisted.lookup(i))
    return early;
  Key key{i, at.offset};
  for (unsigned dim = 0; dim < nest.dims(); ++dim)
    if (!nest.inputs[i].dependsOn(dim))
      key.second[dim] = 0;
  Value *&value = loaded[key];
  if (!value)
    value = read(nest.inputs[i], at);
  return value;
}

void NestMemory::store(unsigned i, const Instance &at, Value *value) {
  const Access &access = nest.outputs[i];
  Type *type = memoryType(b, access.element);
  if (access.element.isInteger(1))
    value = b.CreateZExt(value, b.likewise(value, type));
  if (!variesByLane(access)) {
    b.CreateAlignedStore(value, address(access, at), alignmentOf(type));
    return;
  }
  value = b.splat(value, position.lanes);
  if (!access.hasStride(position.vectorDim, 1))
    b.CreateMaskedScatter(value, addresses(access, at), alignmentOf(type),
                          at.mask);
  else if (at.mask)
    b.CreateMaskedStore(value, address(access, at), alignmentOf(type), at.mask);
  else
    b.CreateAlignedStore(value, address(access, at), alignmentOf(type));
}

//===-- early reads -------------------------------------------------------===//

SmallVector<unsigned> NestMemory::hoist(function_ref<bool(unsigned dim)> bound,
                                        const Instance &at) {
  SmallVector<unsigned> done;
  forget();
  for (unsigned i = 0; i < nest.inputs.size(); ++i) {
    bool ready = !hoisted.count(i);
    for (unsigned dim = 0; dim < nest.dims(); ++dim)
      ready &= bound(dim) || !nest.inputs[i].dependsOn(dim);
    if (!ready)
      continue;
    hoisted[i] = read(nest.inputs[i], at);
    done.push_back(i);
  }
  forget();
  return done;
}

void NestMemory::release(ArrayRef<unsigned> inputs) {
  for (unsigned i : inputs)
    hoisted.erase(i);
}

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
    : b_(builder), nest_(nest), position_(position), pointerOf_(pointerOf) {}

void NestMemory::forget() {
  loaded_.clear();
  transposed_.clear();
  bases_.clear();
}

bool NestMemory::variesByLane(const Access &access) const {
  return position_.lanes > 1 && access.dependsOn(position_.vectorDim);
}

//===-- numbers -----------------------------------------------------------===//

/// offset + sum strides * position in lane 0, without the terms.
Value *NestMemory::uniformPart(const Linear &linear, const Instance &at) {
  Value *sum = b_.getInt64(0);
  for (unsigned dim = 0; dim < nest_.dims(); ++dim)
    if (linear.strides[dim])
      sum = b_.CreateNSWAdd(sum,
                            b_.CreateNSWMul(position_.base[dim],
                                            b_.getInt64(linear.strides[dim])));
  int64_t constant = linear.offset;
  for (unsigned dim = 0; dim < nest_.dims(); ++dim)
    constant += linear.strides[dim] * at.offset[dim];
  return b_.CreateNSWAdd(sum, b_.getInt64(constant));
}

/// The additional part of each lane, as 32-bit integers; null if none.
Value *NestMemory::lanePart(const Linear &linear, const Instance &at) {
  if (position_.lanes == 1 || linear.strides[position_.vectorDim] == 0)
    return nullptr;
  Constant *iota = b_.iota(position_.lanes);
  return b_.CreateMul(
      iota, b_.integer(iota->getType(), linear.strides[position_.vectorDim]));
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
    total = sum(b_, lanes, total);
  for (auto &[expression, scale] : linear.terms) {
    Value *term = evaluate(expression, at);
    total =
        sum(b_, total, b_.CreateMul(term, b_.integer(term->getType(), scale)));
  }
  return total;
}

static Value *floorRemainder(CpuBuilder &b, Value *x, int64_t y) {
  Type *type = x->getType();
  if (isPowerOf2_64(y))
    return b.CreateAnd(x, b.integer(type, y - 1));
  return b.CreateSub(x, b.CreateMul(b.floorDivide(x, y), b.integer(type, y)));
}

/// Evaluates a division or remainder by a constant.
Value *NestMemory::evaluate(AffineExpr expression, const Instance &at) {
  auto both = cast<mlir::AffineBinaryOpExpr>(expression);
  Value *x = evaluate(flatten(both.getLHS(), nest_.dims()), at);
  int64_t y = cast<mlir::AffineConstantExpr>(both.getRHS()).getValue();
  if (both.getKind() == AffineExprKind::Mod)
    return floorRemainder(b_, x, y);
  if (both.getKind() == AffineExprKind::CeilDiv)
    x = b_.CreateAdd(x, b_.integer(x->getType(), y - 1));
  return b_.floorDivide(x, y);
}

Value *NestMemory::index(unsigned dim, const Instance &at) {
  Value *first =
      b_.CreateNSWAdd(position_.base[dim], b_.getInt64(at.offset[dim]));
  if (!isLane(dim))
    return first;
  Value *iota = b_.CreateZExt(b_.iota(position_.lanes),
                              b_.wide(b_.getInt64Ty(), position_.lanes));
  return b_.CreateAdd(b_.splat(first, position_.lanes), iota);
}

//===-- guards ------------------------------------------------------------===//

Value *NestMemory::holds(const Condition &condition, const Instance &at) {
  auto predicate = condition.equality ? CmpInst::ICMP_EQ : CmpInst::ICMP_SGE;
  Value *lanes = lanePart(condition.value, at);
  if (lanes && condition.value.terms.empty()) {
    // A constant vector against a uniform limit needs only one comparison.
    Value *limit = b_.CreateNeg(uniformPart(condition.value, at));
    return b_.CreateICmp(
        predicate, lanes,
        b_.splat(b_.CreateTrunc(limit, b_.getInt32Ty()), position_.lanes));
  }
  Value *value = evaluate(condition.value, at);
  return b_.CreateICmp(predicate, value, b_.integer(value->getType(), 0));
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
    b_.matchLanes(both);
    all = all ? b_.CreateAnd(both[0], both[1]) : one;
  }
  return all;
}

/// The lanes to access; null for all.
Value *NestMemory::mask(Value *guard, const Instance &at) {
  if (!guard)
    return at.mask;
  guard = b_.splat(guard, position_.lanes);
  return at.mask ? b_.CreateAnd(guard, at.mask) : guard;
}

//===-- addresses ---------------------------------------------------------===//

/// The part that depends on the loops is computed once for all instances, the
/// terms for each.
Value *NestMemory::address(const Access &access, const Instance &at) {
  Type *type = memoryType(b_, access.element);
  Value *&base = bases_[&access.place];
  if (!base) {
    Instance origin{SmallVector<int64_t>(nest_.dims(), 0)};
    base = b_.CreateGEP(type, pointerOf_(access),
                        uniformPart(access.place, origin));
  }
  int64_t constant = 0;
  for (unsigned dim = 0; dim < nest_.dims(); ++dim)
    constant += access.place.strides[dim] * at.offset[dim];
  Value *address =
      constant ? b_.CreateGEP(type, base, b_.getInt64(constant)) : base;
  for (auto &[expression, scale] : access.place.terms)
    if (position_.lanes == 1 ||
        !expression.isFunctionOfDim(position_.vectorDim)) {
      Value *term =
          b_.CreateNSWMul(evaluate(expression, at), b_.getInt64(scale));
      address = b_.CreateGEP(type, address, term);
    }
  return address;
}

/// The address of each lane.
Value *NestMemory::addresses(const Access &access, const Instance &at) {
  Value *lanes = lanePart(access.place, at);
  Value *offsets =
      lanes ? lanes
            : Constant::getNullValue(b_.iota(position_.lanes)->getType());
  for (auto &[expression, scale] : access.place.terms)
    if (expression.isFunctionOfDim(position_.vectorDim)) {
      Value *term = evaluate(expression, at);
      offsets = b_.CreateAdd(
          offsets, b_.CreateMul(term, b_.integer(term->getType(), scale)));
    }
  return b_.CreateGEP(memoryType(b_, access.element), address(access, at),
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
  Type *type = memoryType(b_, access.element);
  Value *from = address(access, at);
  if (Value *condition = guard(access, at))
    from = b_.CreateSelect(condition, from, zeros(b_));
  return b_.CreateAlignedLoad(type, from, alignmentOf(type));
}

Value *NestMemory::readNext(const Access &access, const Instance &at) {
  Type *type = b_.wide(memoryType(b_, access.element), position_.lanes);
  Value *from = address(access, at);
  if (Value *lanes = mask(guard(access, at), at))
    return b_.CreateMaskedLoad(type, from, alignmentOf(type), lanes,
                               Constant::getNullValue(type));
  return b_.CreateAlignedLoad(type, from, alignmentOf(type));
}

/// Reads a vector of which only the first `present` elements are in memory.
Value *NestMemory::readFirst(Type *type, Value *from, unsigned lanes,
                             int64_t present) {
  Type *vector = b_.wide(type, lanes);
  if (present >= lanes)
    return b_.CreateAlignedLoad(vector, from, alignmentOf(type));
  if (present <= 0)
    return Constant::getNullValue(vector);
  Value *some =
      b_.CreateICmpULT(b_.iota(lanes), b_.splat(b_.getInt32(present), lanes));
  return b_.CreateMaskedLoad(vector, from, alignmentOf(type), some,
                             Constant::getNullValue(vector));
}

/// Reads whole vectors and picks the lanes, which for small strides is far
/// cheaper than a gather.
Value *NestMemory::readStrided(const Access &access, const Instance &at,
                               int64_t by) {
  Type *type = memoryType(b_, access.element);
  unsigned lanes = position_.lanes;
  int64_t present = ((at.lanes < 0 ? lanes : at.lanes) - 1) * by + 1;
  Value *from = address(access, at), *all = nullptr;
  for (int64_t part = 0; part < by; ++part) {
    Value *piece =
        readFirst(type, b_.CreateConstGEP1_64(type, from, part * lanes), lanes,
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
    all = all ? b_.CreateShuffleVector(all, piece, picked)
              : b_.CreateShuffleVector(piece, picked);
  }
  return all;
}

/// Reads each element once and repeats it in `by` lanes.
Value *NestMemory::readRepeated(const Access &access, const Instance &at,
                                int64_t by) {
  Type *type = memoryType(b_, access.element);
  Value *from = address(access, at);
  for (auto &[expression, scale] : access.place.terms)
    if (expression.isFunctionOfDim(position_.vectorDim)) {
      auto quotient = cast<mlir::AffineBinaryOpExpr>(expression);
      Value *first = uniformPart(flatten(quotient.getLHS(), nest_.dims()), at);
      from = b_.CreateGEP(type, from, b_.floorDivide(first, by));
    }
  int64_t present = at.lanes < 0 ? position_.lanes : at.lanes;
  unsigned count = position_.lanes / by;
  Value *few = readFirst(type, from, count, divideCeil(present, by));
  SmallVector<int> repeated;
  for (unsigned i = 0; i < position_.lanes; ++i)
    repeated.push_back(i / by);
  return count == 1 ? b_.splat(few, position_.lanes)
                    : b_.CreateShuffleVector(few, repeated);
}

Value *NestMemory::gather(const Access &access, const Instance &at) {
  Type *type = b_.wide(memoryType(b_, access.element), position_.lanes);
  return b_.CreateMaskedGather(type, addresses(access, at), alignmentOf(type),
                               mask(guard(access, at), at),
                               Constant::getNullValue(type));
}

/// Exchanges rows and lanes of as many vectors as each has lanes: of the blocks
/// of every size in turn, those beside the diagonal.
static void transpose(CpuBuilder &b, MutableArrayRef<Value *> rows) {
  unsigned lanes = rows.size();
  for (unsigned size = 1; size < lanes; size *= 2)
    for (unsigned row = 0; row < lanes; ++row) {
      if (row & size)
        continue;
      SmallVector<int> upper, lower;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        bool isRight = lane & size;
        upper.push_back(int(isRight ? lanes + lane - size : lane));
        lower.push_back(int(isRight ? lanes + lane : lane + size));
      }
      Value *top = rows[row], *bottom = rows[row + size];
      rows[row] = b.CreateShuffleVector(top, bottom, upper);
      rows[row + size] = b.CreateShuffleVector(top, bottom, lower);
    }
}

/// Reads a block of a tile that is transposed in memory in whole vectors, for
/// all positions of the block at once; null if the access has no such block
/// here.
Value *NestMemory::readTransposed(const Access &access, const Instance &at) {
  unsigned lanes = position_.lanes;
  int dim = transposedDim(nest_, access, position_.vectorDim, lanes);
  if (dim < 0 || at.mask || position_.sizes[dim] % lanes != 0)
    return nullptr;
  Instance row = at;
  unsigned within = row.offset[dim] % lanes;
  row.offset[dim] -= within;
  SmallVector<Value *> &block = transposed_[{&access, row.offset}];
  if (block.empty()) {
    Type *element = memoryType(b_, access.element);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      block.push_back(b_.CreateAlignedLoad(
          b_.wide(element, lanes), address(access, row), alignmentOf(element)));
      ++row.offset[position_.vectorDim];
    }
    transpose(b_, block);
  }
  return block[within];
}

Value *NestMemory::readLanes(const Access &access, const Instance &at) {
  LaneStep step = laneStep(nest_, access, position_.vectorDim, position_.lanes);
  bool known = at.lanes != 0 && access.guard.empty();
  if (step.kind == LaneStep::next)
    return readNext(access, at);
  if (step.kind == LaneStep::strided && known)
    return readStrided(access, at, step.by);
  if (step.kind == LaneStep::repeated && known)
    return readRepeated(access, at, step.by);
  if (Value *transposed = readTransposed(access, at))
    return transposed;
  return gather(access, at);
}

Value *NestMemory::read(const Access &access, const Instance &at) {
  Value *value =
      variesByLane(access) ? readLanes(access, at) : readOne(access, at);
  if (!access.element.isInteger(1))
    return value;
  return b_.CreateICmpNE(value, Constant::getNullValue(value->getType()));
}

Value *NestMemory::load(unsigned i, const Instance &at) {
  if (Value *early = hoisted_.lookup(i))
    return early;
  Key key{i, at.offset};
  for (unsigned dim = 0; dim < nest_.dims(); ++dim)
    if (!nest_.inputs[i].dependsOn(dim))
      key.second[dim] = 0;
  Value *&value = loaded_[key];
  if (!value)
    value = read(nest_.inputs[i], at);
  return value;
}

void NestMemory::store(const Instance &at, ArrayRef<Value *> values) {
  for (unsigned i = 0; i < values.size();) {
    unsigned count = interleaved(i, at);
    if (count > 1)
      storeInterleaved(nest_.outputs[i], at, values.slice(i, count));
    else
      storeOne(i, at, values[i]);
    i += count;
  }
}

/// The number of outputs from `first` on whose elements lie side by side, so
/// that all lanes of all of them fill a range of memory; 1 if there is no
/// other.
unsigned NestMemory::interleaved(unsigned first, const Instance &at) const {
  constexpr int64_t most = 16;
  const Access &access = nest_.outputs[first];
  if (position_.lanes == 1 || at.mask || !access.place.terms.empty() ||
      access.element.isInteger(1))
    return 1;
  int64_t count = access.place.strides[position_.vectorDim],
          outputs = nest_.outputs.size();
  if (count < 2 || count > most || first + count > outputs)
    return 1;
  for (int64_t i = 1; i < count; ++i) {
    const Access &other = nest_.outputs[first + i];
    if (other.buffer != access.buffer || !other.place.terms.empty() ||
        other.place.strides != access.place.strides ||
        other.place.offset != access.place.offset + i)
      return 1;
  }
  return unsigned(count);
}

/// Writes whole vectors, which is far cheaper than a scatter for each output.
void NestMemory::storeInterleaved(const Access &first, const Instance &at,
                                  ArrayRef<Value *> values) {
  Type *type = memoryType(b_, first.element);
  unsigned lanes = position_.lanes, count = values.size();
  Value *to = address(first, at);
  for (unsigned part = 0; part < count; ++part) {
    Value *all = nullptr;
    for (auto [output, value] : enumerate(values)) {
      SmallVector<int> picked;
      for (unsigned i = 0; i < lanes; ++i) {
        unsigned place = part * lanes + i;
        picked.push_back(place % count == output
                             ? int(place / count + (all ? lanes : 0))
                         : all ? int(i)
                               : PoisonMaskElem);
      }
      Value *vector = b_.splat(value, lanes);
      all = all ? b_.CreateShuffleVector(all, vector, picked)
                : b_.CreateShuffleVector(vector, picked);
    }
    b_.CreateAlignedStore(all, b_.CreateConstGEP1_64(type, to, part * lanes),
                          alignmentOf(type));
  }
}

void NestMemory::storeOne(unsigned i, const Instance &at, Value *value) {
  const Access &access = nest_.outputs[i];
  Type *type = memoryType(b_, access.element);
  if (access.element.isInteger(1))
    value = b_.CreateZExt(value, b_.likewise(value, type));
  if (!variesByLane(access)) {
    b_.CreateAlignedStore(value, address(access, at), alignmentOf(type));
    return;
  }
  value = b_.splat(value, position_.lanes);
  if (!access.hasStride(position_.vectorDim, 1))
    b_.CreateMaskedScatter(value, addresses(access, at), alignmentOf(type),
                           at.mask);
  else if (at.mask)
    b_.CreateMaskedStore(value, address(access, at), alignmentOf(type),
                         at.mask);
  else
    b_.CreateAlignedStore(value, address(access, at), alignmentOf(type));
}

//===-- early reads -------------------------------------------------------===//

SmallVector<unsigned> NestMemory::hoist(function_ref<bool(unsigned dim)> bound,
                                        const Instance &at) {
  SmallVector<unsigned> done;
  forget();
  for (unsigned i = 0; i < nest_.inputs.size(); ++i) {
    bool ready = !hoisted_.count(i);
    for (unsigned dim = 0; dim < nest_.dims(); ++dim)
      ready &= bound(dim) || !nest_.inputs[i].dependsOn(dim);
    if (!ready)
      continue;
    hoisted_[i] = read(nest_.inputs[i], at);
    done.push_back(i);
  }
  forget();
  return done;
}

void NestMemory::release(ArrayRef<unsigned> inputs) {
  for (unsigned i : inputs)
    hoisted_.erase(i);
}

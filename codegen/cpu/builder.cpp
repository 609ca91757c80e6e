// Helpers on LLVM's IR builder for values with any number of lanes and for
// counted loops.

#include "codegen/cpu/builder.h"

#include "llvm/IR/Intrinsics.h"

#include <numeric>

using namespace llvm;
using namespace gradus;

unsigned gradus::lanesOf(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

Type *CpuBuilder::wide(Type *scalar, unsigned lanes) {
  return lanes == 1 ? scalar : FixedVectorType::get(scalar, lanes);
}

Value *CpuBuilder::splat(Value *scalar, unsigned lanes) {
  return lanes == 1 || lanesOf(scalar) == lanes
             ? scalar
             : CreateVectorSplat(lanes, scalar);
}

void CpuBuilder::matchLanes(MutableArrayRef<Value *> values) {
  unsigned lanes = 1;
  for (Value *value : values)
    lanes = std::max(lanes, lanesOf(value));
  for (Value *&value : values)
    value = splat(value, lanes);
}

Constant *CpuBuilder::real(Type *type, double value) {
  return ConstantFP::get(type, value);
}

Constant *CpuBuilder::integer(Type *type, int64_t value) {
  return ConstantInt::get(type, uint64_t(value), /*IsSigned=*/true);
}

Constant *CpuBuilder::iota(unsigned lanes) {
  SmallVector<uint32_t> numbers(lanes);
  for (unsigned i = 0; i < lanes; ++i)
    numbers[i] = i;
  return ConstantDataVector::get(getContext(), numbers);
}

Value *CpuBuilder::unary(Intrinsic::ID id, Value *x) {
  return CreateUnaryIntrinsic(id, x);
}

Value *CpuBuilder::binary(Intrinsic::ID id, Value *x, Value *y) {
  return CreateBinaryIntrinsic(id, x, y);
}

Value *CpuBuilder::fma(Value *x, Value *y, Value *z) {
  Value *values[] = {x, y, z};
  matchLanes(values);
  if (!target.fma)
    return CreateFAdd(CreateFMul(values[0], values[1]), values[2]);
  return CreateIntrinsic(Intrinsic::fma, {values[0]->getType()}, values);
}

Value *CpuBuilder::floorDivide(Value *x, int64_t by) {
  Type *type = x->getType();
  if (isPowerOf2_64(by))
    return CreateAShr(x, integer(type, Log2_64(by)));
  Value *divisor = integer(type, by), *quotient = CreateSDiv(x, divisor);
  Value *rest = CreateSub(x, CreateMul(quotient, divisor));
  Value *isBelow = CreateICmpSLT(rest, integer(type, 0));
  return CreateAdd(quotient, CreateSExt(isBelow, type));
}

void CpuBuilder::askFor(Value *address, unsigned cache) {
  constexpr int read = 0, first = 3, data = 1;
  int locality = first + 1 - int(cache);
  CreateIntrinsic(
      Intrinsic::prefetch, {getPtrTy()},
      {address, getInt32(read), getInt32(locality), getInt32(data)});
}

/// The result has lane `first` of a vector and those that follow, undefined
/// ones behind its end. A single value becomes the first lane, before zeros.
Value *CpuBuilder::lanesFrom(Value *x, unsigned first, unsigned count) {
  if (lanesOf(x) == 1)
    return CreateInsertElement(
        Constant::getNullValue(wide(x->getType(), count)), x, uint64_t(0));
  SmallVector<int> picked;
  for (unsigned i = 0; i < count; ++i)
    picked.push_back(first + i < lanesOf(x) ? int(first + i) : PoisonMaskElem);
  return CreateShuffleVector(x, picked);
}

Value *
CpuBuilder::inVectors(ArrayRef<Value *> operands,
                      function_ref<Value *(ArrayRef<Value *>)> instruction) {
  constexpr unsigned least = 4, most = 16;
  unsigned lanes = lanesOf(operands[0]);
  auto of = [&](unsigned first, unsigned count) {
    return map_to_vector(operands,
                         [&](Value *x) { return lanesFrom(x, first, count); });
  };
  if (lanes == 1)
    return CreateExtractElement(instruction(of(0, least)), uint64_t(0));
  if (lanes < least)
    return lanesFrom(instruction(of(0, least)), 0, lanes);
  if (lanes <= most)
    return instruction(operands);
  unsigned half = lanes / 2;
  SmallVector<int> both(lanes);
  std::iota(both.begin(), both.end(), 0);
  Value *low = inVectors(of(0, half), instruction),
        *high = inVectors(of(half, half), instruction);
  return CreateShuffleVector(low, high, both);
}

BasicBlock *CpuBuilder::newBlock(const char *name) {
  return BasicBlock::Create(getContext(), name, GetInsertBlock()->getParent());
}

/// Emits a loop of at least one iteration, with the test at its end.
Values CpuBuilder::rotatedLoop(Value *begin, Value *end, int64_t step,
                               ArrayRef<Value *> initial, Body body) {
  BasicBlock *before = GetInsertBlock(), *inside = newBlock("loop");
  CreateBr(inside);
  SetInsertPoint(inside);
  PHINode *iv = CreatePHI(getInt64Ty(), 2, "i");
  iv->addIncoming(begin, before);
  Values carried;
  for (Value *value : initial) {
    PHINode *phi = CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  Values results = body(iv, carried);
  Value *next =
      CreateAdd(iv, getInt64(step), "", /*HasNUW=*/true, /*HasNSW=*/true);
  BasicBlock *last = GetInsertBlock(), *after = newBlock("done");
  CreateCondBr(CreateICmpSLT(next, end), inside, after);
  iv->addIncoming(next, last);
  for (auto [phi, value] : zip(carried, results))
    cast<PHINode>(phi)->addIncoming(value, last);
  SetInsertPoint(after);
  return results;
}

Values CpuBuilder::loop(Value *begin, Value *end, int64_t step,
                        ArrayRef<Value *> initial, Body body) {
  auto *first = dyn_cast<ConstantInt>(begin),
       *limit = dyn_cast<ConstantInt>(end);
  if (first && limit) {
    int64_t extent = limit->getSExtValue() - first->getSExtValue();
    if (extent <= 0)
      return Values(initial);
    return extent <= step ? body(begin, initial)
                          : rotatedLoop(begin, end, step, initial, body);
  }
  BasicBlock *before = GetInsertBlock(), *some = newBlock("some"),
             *join = newBlock("join");
  CreateCondBr(CreateICmpSLT(begin, end), some, join);
  SetInsertPoint(some);
  Values results = rotatedLoop(begin, end, step, initial, body);
  BasicBlock *last = GetInsertBlock();
  CreateBr(join);
  SetInsertPoint(join);
  for (auto [result, value] : zip(results, initial)) {
    PHINode *phi = CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    phi->addIncoming(result, last);
    result = phi;
  }
  return results;
}

void CpuBuilder::loop(Value *begin, Value *end, int64_t step,
                      function_ref<void(Value *)> body) {
  loop(begin, end, step, {}, [&](Value *iv, ArrayRef<Value *>) {
    body(iv);
    return Values();
  });
}

Function *CpuBuilder::declare(Module &module, ArrayRef<Type *> arguments,
                              GlobalValue::LinkageTypes linkage,
                              const std::string &name) {
  auto *type = FunctionType::get(getVoidTy(), arguments, false);
  Function *function = Function::Create(type, linkage, name, module);
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
  function->addFnAttr("no-builtins"); // Keeps loops from becoming memset.
  if (!target.tune.empty())
    function->addFnAttr("tune-cpu", target.tune);
  return function;
}

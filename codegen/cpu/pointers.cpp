// An address is base + index * size, where the index is a sum of multiples of
// the loop's counter and of loop invariants. The index of the first iteration
// is computed before the loop.

#include "codegen/cpu/pointers.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace gradus;

namespace {

/// The address computations of one loop.
class LoopPointers {
public:
  LoopPointers(Loop &loop, PHINode &counter, const ConstantInt &step)
      : loop_(loop), counter_(counter), step_(step.getSExtValue()),
        before_(loop.getLoopPreheader()->getTerminator()),
        latch_(loop.getLoopLatch()->getTerminator()) {}

  /// Returns whether anything was changed.
  bool run();

private:
  std::optional<int64_t> factorOf(Value *index) const;
  Value *indexAt(Value *at, Value *index);
  Value *addressAt(Value *at, GetElementPtrInst &address);
  Value *carried(GetElementPtrInst &address, int64_t factor);
  Value *indexed(GetElementPtrInst &address);

  Loop &loop_;
  PHINode &counter_;
  int64_t step_; // of the counter
  IRBuilder<> before_, latch_;
};

} // namespace

/// The increase of an index per increment of the counter; nothing if it is no
/// such sum.
std::optional<int64_t> LoopPointers::factorOf(Value *index) const {
  if (index == &counter_)
    return 1;
  if (loop_.isLoopInvariant(index))
    return 0;
  auto *op = dyn_cast<BinaryOperator>(index);
  if (!op)
    return std::nullopt;
  auto *constant = dyn_cast<ConstantInt>(op->getOperand(1));
  bool isMultiple = op->getOpcode() == Instruction::Mul && constant;
  if (op->getOpcode() != Instruction::Add && !isMultiple)
    return std::nullopt;
  auto x = factorOf(op->getOperand(0)), y = factorOf(op->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  return isMultiple ? *x * constant->getSExtValue() : *x + *y;
}

/// Computes the index for the counter value `at`. The sums may have other
/// intermediate values than in the loop, so they have no nsw or nuw.
Value *LoopPointers::indexAt(Value *at, Value *index) {
  if (index == &counter_)
    return at;
  if (loop_.isLoopInvariant(index))
    return index;
  auto *op = cast<BinaryOperator>(index);
  Value *x = indexAt(at, op->getOperand(0)),
        *y = indexAt(at, op->getOperand(1));
  auto isZero = [](Value *value) {
    auto *constant = dyn_cast<ConstantInt>(value);
    return constant && constant->isZero();
  };
  if (op->getOpcode() == Instruction::Mul)
    return isZero(x) ? x : before_.CreateMul(x, y);
  return isZero(x) ? y : isZero(y) ? x : before_.CreateAdd(x, y);
}

Value *LoopPointers::addressAt(Value *at, GetElementPtrInst &address) {
  return before_.CreateGEP(address.getSourceElementType(),
                           address.getPointerOperand(),
                           indexAt(at, address.getOperand(1)));
}

/// Computes an address as a pointer that the loop increments.
Value *LoopPointers::carried(GetElementPtrInst &address, int64_t factor) {
  BasicBlock *outside = loop_.getLoopPreheader();
  PHINode *pointer =
      PHINode::Create(address.getType(), 2, "", counter_.getIterator());
  Value *next = latch_.CreateGEP(address.getSourceElementType(), pointer,
                                 latch_.getInt64(factor * step_));
  pointer->addIncoming(
      addressAt(counter_.getIncomingValueForBlock(outside), address), outside);
  pointer->addIncoming(next, loop_.getLoopLatch());
  return pointer;
}

/// Computes an address as an invariant pointer plus the counter.
Value *LoopPointers::indexed(GetElementPtrInst &address) {
  Value *zero = ConstantInt::get(counter_.getType(), 0);
  return IRBuilder<>(&address).CreateGEP(address.getSourceElementType(),
                                         addressAt(zero, address), &counter_);
}

bool LoopPointers::run() {
  // More pointers need more registers than there are, which costs what they
  // save.
  constexpr size_t mostPointers = 6;
  SmallVector<std::pair<GetElementPtrInst *, int64_t>> addresses;
  for (BasicBlock *block : loop_.blocks())
    for (Instruction &op : *block)
      if (auto *address = dyn_cast<GetElementPtrInst>(&op);
          address && address->getNumIndices() == 1 &&
          address->getType()->isPointerTy() &&
          loop_.isLoopInvariant(address->getPointerOperand()))
        if (auto factor = factorOf(address->getOperand(1));
            factor && *factor != 0 && address->getOperand(1) != &counter_)
          addresses.push_back({address, *factor});
  if (addresses.size() > mostPointers)
    return false;
  for (auto [address, factor] : addresses) {
    address->replaceAllUsesWith(factor == 1 ? indexed(*address)
                                            : carried(*address, factor));
    RecursivelyDeleteTriviallyDeadInstructions(address);
  }
  return !addresses.empty();
}

/// Handles a loop with one counter that grows by a constant. Other loops stay
/// as they are.
static bool carryIn(Loop &loop) {
  BasicBlock *latch = loop.getLoopLatch();
  if (!loop.isInnermost() || !loop.getLoopPreheader() || !latch)
    return false;
  for (PHINode &phi : loop.getHeader()->phis()) {
    auto *next = dyn_cast<BinaryOperator>(phi.getIncomingValueForBlock(latch));
    if (!phi.getType()->isIntegerTy(64) || !next ||
        next->getOpcode() != Instruction::Add || next->getOperand(0) != &phi)
      continue;
    if (auto *step = dyn_cast<ConstantInt>(next->getOperand(1)))
      return LoopPointers(loop, phi, *step).run();
  }
  return false;
}

PreservedAnalyses CarryPointers::run(Function &function,
                                     FunctionAnalysisManager &analyses) {
  bool isChanged = false;
  for (Loop *loop :
       analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
    isChanged |= carryIn(*loop);
  return isChanged ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

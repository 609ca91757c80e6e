// LLVM's IR builder with what nests need: values that are one element or a
// vector of them alike, and counted loops that carry values.
#pragma once

#include "codegen/cpu_target.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace gradus {

using Values = llvm::SmallVector<llvm::Value *>;

/// 1 for a scalar.
unsigned lanesOf(llvm::Type *type);
inline unsigned lanesOf(llvm::Value *value) {
  return lanesOf(value->getType());
}

class CpuBuilder : public llvm::IRBuilder<> {
public:
  CpuBuilder(llvm::LLVMContext &context, const CpuTarget &target)
      : llvm::IRBuilder<>(context), target(target) {}

  const CpuTarget &target;

  /// A type of one element, or a vector of `lanes`.
  llvm::Type *wide(llvm::Type *scalar, unsigned lanes);
  /// The type of `value` with other elements.
  llvm::Type *likewise(llvm::Value *value, llvm::Type *scalar) {
    return wide(scalar, lanesOf(value));
  }
  llvm::Value *splat(llvm::Value *scalar, unsigned lanes);
  /// Gives all values the lanes of the widest.
  void matchLanes(llvm::MutableArrayRef<llvm::Value *> values);
  llvm::Constant *real(llvm::Type *type, double value);
  llvm::Constant *integer(llvm::Type *type, int64_t value);
  /// <0, 1, .. lanes-1> of 32-bit integers.
  llvm::Constant *iota(unsigned lanes);

  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x);
  llvm::Value *binary(llvm::Intrinsic::ID id, llvm::Value *x, llvm::Value *y);
  /// x * y + z, fused where the target can.
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z);

  using Body = llvm::function_ref<Values(
      llvm::Value *iv, llvm::ArrayRef<llvm::Value *> carried)>;
  /// for (iv = begin; iv < end; iv += step): returns what the body carried
  /// last. One round leaves no loop behind, none leaves `initial`.
  Values loop(llvm::Value *begin, llvm::Value *end, int64_t step,
              llvm::ArrayRef<llvm::Value *> initial, Body body);
  void loop(llvm::Value *begin, llvm::Value *end, int64_t step,
            llvm::function_ref<void(llvm::Value *iv)> body);
  llvm::BasicBlock *newBlock(const char *name);

private:
  Values rotatedLoop(llvm::Value *begin, llvm::Value *end, int64_t step,
                     llvm::ArrayRef<llvm::Value *> initial, Body body);
};

} // namespace gradus

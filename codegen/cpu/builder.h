// LLVM's IR builder with helpers for nests: values that are either scalars or
// vectors, and counted loops that carry values.
#pragma once

#include "codegen/cpu/target.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

#include <string>

namespace gradus {

using Values = llvm::SmallVector<llvm::Value *>;

/// The number of lanes of a vector, 1 for a scalar.
unsigned lanesOf(llvm::Type *type);
inline unsigned lanesOf(llvm::Value *value) {
  return lanesOf(value->getType());
}

class CpuBuilder : public llvm::IRBuilder<> {
public:
  CpuBuilder(llvm::LLVMContext &context, const CpuTarget &target)
      : llvm::IRBuilder<>(context), target(target) {}

  const CpuTarget &target;

  /// The scalar type, or a vector of `lanes` of it.
  llvm::Type *wide(llvm::Type *scalar, unsigned lanes);
  /// The type of `value` with another element type.
  llvm::Type *likewise(llvm::Value *value, llvm::Type *scalar) {
    return wide(scalar, lanesOf(value));
  }
  llvm::Value *splat(llvm::Value *scalar, unsigned lanes);
  /// Splats the values to the lanes of the widest.
  void matchLanes(llvm::MutableArrayRef<llvm::Value *> values);
  llvm::Constant *real(llvm::Type *type, double value);
  llvm::Constant *integer(llvm::Type *type, int64_t value);
  /// The vector <0, 1, .. lanes-1> of 32-bit integers.
  llvm::Constant *iota(unsigned lanes);

  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x);
  llvm::Value *binary(llvm::Intrinsic::ID id, llvm::Value *x, llvm::Value *y);
  /// x * y + z, fused if the target has the instruction.
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z);
  /// floor(x / by) of integers, for by > 0.
  llvm::Value *floorDivide(llvm::Value *x, int64_t by);
  /// Asks for the line of memory that will be read at an address, into the
  /// first or the second cache. The address may lie outside of all buffers.
  void askFor(llvm::Value *address, unsigned cache);

  /// Computes a result from operands of equal lanes by an instruction that
  /// takes vectors of 4, 8 or 16. A single lane is computed in a vector, too:
  /// so an element has the same bits in the ragged end of a block.
  llvm::Value *
  inVectors(llvm::ArrayRef<llvm::Value *> operands,
            llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)>
                instruction);

  using Body = llvm::function_ref<Values(
      llvm::Value *iv, llvm::ArrayRef<llvm::Value *> carried)>;
  /// Emits `for (iv = begin; iv < end; iv += step)` and returns the carried
  /// values after it. A single iteration is emitted without a loop; none
  /// returns `initial`.
  Values loop(llvm::Value *begin, llvm::Value *end, int64_t step,
              llvm::ArrayRef<llvm::Value *> initial, Body body);
  void loop(llvm::Value *begin, llvm::Value *end, int64_t step,
            llvm::function_ref<void(llvm::Value *iv)> body);
  llvm::BasicBlock *newBlock(const char *name);

  /// Declares a function for the target that returns nothing.
  llvm::Function *declare(llvm::Module &module,
                          llvm::ArrayRef<llvm::Type *> arguments,
                          llvm::GlobalValue::LinkageTypes linkage,
                          const std::string &name);

private:
  llvm::Value *lanesFrom(llvm::Value *x, unsigned first, unsigned count);
  Values rotatedLoop(llvm::Value *begin, llvm::Value *end, int64_t step,
                     llvm::ArrayRef<llvm::Value *> initial, Body body);
};

} // namespace gradus

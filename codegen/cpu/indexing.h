// Emits CPU code for gathers and for sums at indices.
#pragma once

#include "codegen/cpu/builder.h"
#include "codegen/plan/plan.h"

namespace gradus {

/// Gathers slices [begin, end) of the result.
void emitTake(CpuBuilder &builder, plan::TakeOp op, llvm::Value *begin,
              llvm::Value *end,
              llvm::function_ref<llvm::Value *(mlir::Value)> pointerOf);

/// Sums slices [begin, end) of the result.
void emitAddAt(CpuBuilder &builder, plan::AddAtOp op, llvm::Value *begin,
               llvm::Value *end,
               llvm::function_ref<llvm::Value *(mlir::Value)> pointerOf);

} // namespace gradus

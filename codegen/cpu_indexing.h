// Machine code of gathers and of sums at indices.
#pragma once

#include "codegen/cpu_builder.h"
#include "codegen/plan.h"

namespace gradus {

/// Copies slices [begin, end) of the result from where the indices say.
void emitTake(CpuBuilder &builder, plan::TakeOp op, llvm::Value *begin,
              llvm::Value *end,
              llvm::function_ref<llvm::Value *(mlir::Value)> pointerOf);

/// Sums up slices [begin, end) of the result.
void emitAddAt(CpuBuilder &builder, plan::AddAtOp op, llvm::Value *begin,
               llvm::Value *end,
               llvm::function_ref<llvm::Value *(mlir::Value)> pointerOf);

} // namespace gradus

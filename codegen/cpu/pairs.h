// Sums of products of pairs of bf16.
#pragma once

#include "codegen/cpu/builder.h"

namespace gradus {

/// sum + high a * high b + low a * low b, for lanes of i32 that each hold two
/// bf16: one instruction where the target has it, else two multiply-adds.
llvm::Value *addPairs(CpuBuilder &builder, llvm::Value *sum, llvm::Value *a,
                      llvm::Value *b);

} // namespace gradus

// What a division leaves, exactly, on values of any number of lanes.
#pragma once

#include "codegen/cpu_builder.h"

namespace gradus {

/// x - n y for a whole n, less than |y| and with the sign of x: the number that
/// C's fmod gives, however large the quotient. f32 or f64.
llvm::Value *remainder(CpuBuilder &builder, llvm::Value *x, llvm::Value *y);

} // namespace gradus

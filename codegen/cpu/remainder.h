// The exact remainder of a division, for values with any number of lanes.
#pragma once

#include "codegen/cpu/builder.h"

namespace gradus {

/// x - n y for an integer n, less than |y| and with the sign of x: C's fmod,
/// exact for quotients of any size. f32 or f64.
llvm::Value *remainder(CpuBuilder &builder, llvm::Value *x, llvm::Value *y);

} // namespace gradus

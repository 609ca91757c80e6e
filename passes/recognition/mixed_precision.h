// The number format of forward and backward: the recipe's `precision`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

enum class Precision { f32, bf16, f16 };

const recipe::Field &precisionKey();
/// The name of a precision: "bf16".
llvm::StringRef nameOf(Precision precision);
Precision precisionOf(ProgramOp program);
/// The 16-bit type of a precision; null for f32.
mlir::FloatType narrowType(Precision precision, mlir::MLIRContext *context);

} // namespace gradus

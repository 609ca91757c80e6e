// The scalar ops and element types that a nest may contain, for which every
// emitter has code. `plan.nest` verifies this, and emitters check again, since
// passes run without verifiers. tests/codegen/plan/plan_ops_test.cpp emits each
// op for each device.
#pragma once

#include "codegen/plan/plan.h"

#include "llvm/Support/Error.h"

#include <string>

namespace gradus {

/// Whether an op is one of those that a nest may hold beside scalar ops
/// (ir/scalar_ops.h), and which cost nothing: constants, indices and the end.
bool isFree(mlir::Operation &op);

/// f16, bf16, f32, f64 and integers of 1, 8, 16, 32 and 64 bits.
bool isElementType(mlir::Type type);

/// Describes the unsupported contents of a nest ("holds op 'math.cbrt', ...");
/// empty if there are none.
std::string unsupportedIn(plan::NestOp nest);

/// Checks all nests of a kernel, and its arguments.
llvm::Error checkKernel(plan::KernelOp kernel);

} // namespace gradus

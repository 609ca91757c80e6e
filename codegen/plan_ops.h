// What a nest may hold: the scalar ops and the types of elements that every
// emitter has code for. `plan.nest` verifies it, and emitters ask again, as
// passes run without verifiers. tests/codegen/plan_ops_test.cpp emits each op
// for each device.
#pragma once

#include "codegen/plan.h"

#include "llvm/Support/Error.h"

#include <string>

namespace gradus {

/// Whether an op is one of those that a nest may hold beside scalar ops
/// (ir/scalar_ops.h), and which cost nothing: constants, indices and the end.
bool isFree(mlir::Operation &op);

/// f16, bf16, f32, f64 and integers of 1, 8, 16, 32 and 64 bits.
bool isElementType(mlir::Type type);

/// What a nest holds that it may not, in words ("holds op 'math.cbrt', ...");
/// empty if nothing.
std::string unsupportedIn(plan::NestOp nest);

/// The same of all nests of a kernel, and of its arguments.
llvm::Error checkKernel(plan::KernelOp kernel);

} // namespace gradus

// Lets the users of wide results compute them from numbers of 16 bits.
#pragma once

#include "codegen/plan/nest.h"

namespace gradus {

/// The scalar that a nest yields for a result.
mlir::Value yieldedFor(mlir::OpResult result);
/// Finds another result that stores a number of the nest with the same map.
mlir::Value sameNumbers(mlir::OpResult result, mlir::Value number);

/// Whether two nests would be too much for one.
using TooMuch = llvm::function_ref<bool(plan::NestOp, plan::NestOp)>;

/// For each f32 result of `nest` that is computed of 16-bit numbers in few
/// operations: lets the nests that read it compute it, of what the nest reads,
/// or of a 16-bit number that it stores instead. The numbers are the same.
/// Users are replaced; unused results stay. Returns the number of results.
unsigned computeFromNarrow(plan::NestOp nest, TooMuch isTooMuch);

} // namespace gradus

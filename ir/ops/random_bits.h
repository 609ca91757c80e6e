// Philox as small ops on scalars, for nests that draw more than one stream.
#pragma once

#include "ir/build.h"

namespace gradus {

/// The 32 random bits at index `index` of the stream `stream`, as an i64: the
/// value that `gradus.random_bits` has there. All operands are i64 scalars.
mlir::Value buildRandomBits(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value index, mlir::Value step,
                            mlir::Value stream, int64_t seed);

} // namespace gradus

// The metric `top5`.
#pragma once

#include "ir/build.h"

namespace gradus {

/// The fraction of labels whose class is among the `count` largest logits, the
/// first of equal ones; labels equal to `ignoreIndex` do not count. A NaN is
/// larger than any number. Logits have classes along `axis`; the result is an
/// f32 scalar.
mlir::Value buildTopClasses(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value logits, mlir::Value labels,
                            int64_t axis, int64_t ignoreIndex, int64_t count);

} // namespace gradus

// The kernels of attention and of its gradients.
#pragma once

#include "codegen/kernels/attention_tiles.h"
#include "codegen/plan/plan.h"

namespace gradus {

/// The kernel of an attention whose operands and results are merged by heads:
/// the op's operands, of which queries, keys, values and their gradients may be
/// bf16, and for dropout the stream; see lower_attention.cpp.
plan::KernelOp attentionKernel(AttentionOp op, const AttentionTiles &tiles,
                               mlir::ValueRange operands,
                               mlir::TypeRange results);
plan::KernelOp attentionKernel(AttentionBackwardOp op,
                               const AttentionTiles &tiles,
                               mlir::ValueRange operands,
                               mlir::TypeRange results);

} // namespace gradus

// Attention and its gradients as graphs of cuDNN: products, a mask and a
// softmax, which its engines of flash attention know by their pattern.
//
// The operations that cuDNN has for all of attention take no causal mask before
// version 9.21, and in the gradients none at all; patterns do since 9.0.
#pragma once

#include "runtime/cuda/cudnn_graph.h"

namespace gradus::runtime::cuda::cudnn {

/// How much of a command one run of a graph computes.
struct AttentionPart {
  int64_t sequences, heads; // of each of these sequences
};

/// All of it first, then less and less: sequences while there are several, then
/// heads. A gradient's engine keeps scores of all that it computes at once.
StatusOr<std::vector<AttentionPart>>
attentionParts(const artifact::LibraryCommand &command);

/// Of f16 or bf16, and with the logsumexp of the scores. Runs of parts that do
/// not divide the whole overlap, and give there the same bits again.
StatusOr<OperationGraph> attentionGraph(const Session &session,
                                        const artifact::LibraryCommand &command,
                                        AttentionPart part);

/// The same words for what cuDNN has no attention for, without any library.
Status checkAttention(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda::cudnn

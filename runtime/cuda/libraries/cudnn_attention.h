// Attention and its gradients as graphs of cuDNN: matmuls, a mask and a
// softmax, which its flash attention engines recognise by their pattern.
//
// cuDNN's operations for attention as a whole support no causal mask before
// version 9.21, and none at all in gradients; patterns do since 9.0.
#pragma once

#include "runtime/cuda/libraries/cudnn_graph.h"

namespace gradus::runtime::cuda::cudnn {

/// The part of a command that one run of a graph computes.
struct AttentionPart {
  int64_t sequences, heads; // of each of these sequences
};

/// Lists parts of falling size, starting with the whole: fewer sequences, then
/// fewer heads. A gradient's engine stores the scores of a whole part.
StatusOr<std::vector<AttentionPart>>
attentionParts(const artifact::LibraryCommand &command);

/// Builds the graph for f16 or bf16, with the logsumexp of the scores. If parts
/// do not divide the whole, runs overlap and compute the same bits again.
StatusOr<OperationGraph> attentionGraph(const Session &session,
                                        const artifact::LibraryCommand &command,
                                        AttentionPart part);

/// Checks a command without the library; reports unsupported ones in the same
/// words.
Status checkAttention(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda::cudnn

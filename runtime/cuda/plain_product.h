// If a library has no algorithm for a matmul with its epilogue, only the matmul
// is requested. The sum of an operand then becomes a matmul with ones; a bias
// and an activation become a kernel of ours that runs after it.
#pragma once

#include "runtime/artifact/artifact.h"

namespace gradus::runtime::cuda {

/// The numbers of buffers outside of the plan: ones of the tensor's type, and
/// the matmul that the kernel reads.
constexpr uint32_t kOnesBuffer = UINT32_MAX - 1,
                   kProductBuffer = UINT32_MAX - 2;

/// Whether a command is a matmul with the sum of an operand.
bool sumsOperand(const artifact::LibraryCommand &command);
/// Whether a command is a matmul with a bias or an activation.
bool hasEpilogue(const artifact::LibraryCommand &command);

/// The commands that replace either, in the order in which they run, without
/// stored algorithms. For an epilogue the matmul is f32; it goes to the
/// result's buffer if that is also f32.
std::vector<flatbuffers::DetachedBuffer>
plainProductOf(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda

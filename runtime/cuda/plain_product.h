// A library that has no algorithm for a product with its epilogue is asked for
// the product alone. A sum of an operand is then a product with ones beside it;
// a bias and an activation are a kernel of our own behind it.
#pragma once

#include "runtime/artifact.h"

namespace gradus::runtime::cuda {

/// Numbers of buffers that are in no plan: ones of the tensor's type, and the
/// product that the kernel reads.
constexpr uint32_t kOnesBuffer = UINT32_MAX - 1,
                   kProductBuffer = UINT32_MAX - 2;

/// Whether a command is a product with the sum of an operand.
bool sumsOperand(const artifact::LibraryCommand &command);
/// Whether it is one with a bias or an activation.
bool hasEpilogue(const artifact::LibraryCommand &command);

/// Commands of their own for either, in the order in which they run, without a
/// choice of an algorithm. Of an epilogue the product is f32: where the result
/// is, too, it is there that the product goes.
std::vector<flatbuffers::DetachedBuffer>
plainProductOf(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda

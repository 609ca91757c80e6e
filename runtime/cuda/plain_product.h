// What is asked of a library that has no algorithm for a product and the sum of
// an operand at once: the product alone, and the sum as a product with ones.
#pragma once

#include "runtime/artifact.h"

namespace gradus::runtime::cuda {

/// The number of a buffer that is in no plan, and holds ones of the tensor's
/// type.
constexpr uint32_t kOnesBuffer = UINT32_MAX - 1;

/// Whether a command is a product with the sum of an operand.
bool sumsOperand(const artifact::LibraryCommand &command);

/// Commands of their own for one, in the order in which they run, without a
/// choice of an algorithm.
std::vector<flatbuffers::DetachedBuffer>
plainProductOf(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda

// Finds the part of a convolution's multiplications that are not by padding,
// and whether its channels are few: the library's time depends on both.
#pragma once

#include "runtime/artifact/artifact.h"

#include <optional>

namespace gradus::cli {

/// The multiplications that a library makes in a convolution or a gradient of
/// an input, of all that windows have: those of elements of the source, or all
/// where rows are short (runtime/rates.h). Nothing for other calls,
/// and for one that has fewer tensors than it needs.
std::optional<double> shareInside(const artifact::LibraryCommand &call);

/// Whether a convolution of one group, or a gradient of one, has so few
/// channels, of its source or of its outputs, that the library is slower
/// (runtime/rates.h).
bool hasFewChannels(const artifact::LibraryCommand &call);

} // namespace gradus::cli

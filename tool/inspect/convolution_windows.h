// The part of a convolution's multiplications that are not by padding.
#pragma once

#include "runtime/artifact/artifact.h"

#include <optional>

namespace gradus::cli {

/// The multiplications of elements of the source, of all that windows have: in
/// a library's convolution or gradient of an input. Nothing for other calls,
/// and for one that has fewer tensors than it needs.
std::optional<double> shareInside(const artifact::LibraryCommand &call);

} // namespace gradus::cli

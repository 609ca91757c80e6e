// Computes the initial values of states at compile time.
#pragma once

#include "ir/gradus.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gradus {

/// The type of a state's initial values: its own, or that of the whole tensor
/// of which each rank has a part.
mlir::RankedTensorType wholeType(StateOp state);

/// The value of a state whose elements are all initialised alike, else nothing.
std::optional<double> uniformValue(StateOp state);

/// The state's initial bytes, row-major in its own element type, of the whole
/// where each rank has a part.
///
/// Rules (fan_in, fan_out of a weight [out, in, spatial...]; a vector counts as
/// [n]): kaiming_uniform: U(-b, b), b = sqrt(1 / fan_in), PyTorch's default of
/// convolution and dense layers; xavier_uniform: b = gain * sqrt(6 / (fan_in +
/// fan_out)); normal: N(0, value^2); uniform: U(-value, value). The stream is
/// Philox4x32-10 (Salmon et al., SC 2011), keyed by `seed` and the state's
/// name.
std::vector<char> initialBytes(StateOp state, uint64_t seed);
/// Passes the same bytes to `visit` in chunks, in order.
void visitInitialBytes(StateOp state, uint64_t seed,
                       llvm::function_ref<void(llvm::ArrayRef<char>)> visit);

} // namespace gradus

// Files of `gradus basis`, which the recipe's dim_reduce.basis names: checked
// here without the model, for whatever calls the compiler.

#pragma once

#include "runtime/safetensors.h"

namespace gradus::runtime {

/// Checks what the header of a file says: that it is no checkpoint, has parts
/// of f32 with as many rows each, and no more rows than can be orthonormal or
/// than the checkpoints differ along that it was made of.
Status verifyBasisHeader(const Safetensors &file);

/// Reads all values and checks that they are whole, finite and orthonormal.
Status verifyBasisValues(const Safetensors &file);

} // namespace gradus::runtime

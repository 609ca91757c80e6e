// Element types and shapes as the runtime handles them: sizes, names, equality.

#pragma once

#include "runtime/artifact_generated.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradus::runtime {

using artifact::DType;

struct TensorType {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;

  bool operator==(const TensorType &) const = default;
};

/// Bytes of one element.
size_t bytesOf(DType dtype);

/// Bytes of a dense tensor; nothing where a size is negative or the product
/// does not fit 62 bits.
std::optional<size_t> bytesOf(const TensorType &type);

/// "f32", "bf16", "i64", "bool", ...
const char *nameOf(DType dtype);

/// "32x10xf32"; "f32" for a scalar.
std::string toString(const TensorType &type);

} // namespace gradus::runtime

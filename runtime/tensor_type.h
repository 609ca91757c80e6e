// Element types and shapes in the runtime: sizes, names, equality.

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

/// The bytes of one element.
size_t bytesOf(DType dtype);

/// The bytes of a dense tensor; nothing if a size is negative or the product
/// does not fit 62 bits.
std::optional<size_t> bytesOf(const TensorType &type);

/// The name of an element type: "f32", "bf16", "i64", "bool", ...
const char *nameOf(DType dtype);

/// A type as text: "32x10xf32"; "f32" for a scalar.
std::string toString(const TensorType &type);

} // namespace gradus::runtime

// The large values that an ONNX file holds itself, apart from the rest of it.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::onnx {

/// A model's file in two parts.
struct SeparatedModel {
  /// The file but for some initializers' `raw_data`: what protobuf parses.
  std::string rest;
  /// Those, where they lie in the file, each behind the number of its
  /// initializer in the model's graph.
  std::vector<std::pair<int, llvm::StringRef>> values;
};

/// Takes the values of large weights out of a model, so that nobody copies
/// them: those of the graph's own initializers of two dimensions or more. None
/// where the file is not what protobuf writes; protobuf says what is wrong.
std::optional<SeparatedModel> separateValues(llvm::StringRef file);

} // namespace gradus::onnx

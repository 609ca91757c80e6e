// Separates the large values inside an ONNX file from the rest of it.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::onnx {

/// A model's file in two parts.
struct SeparatedModel {
  /// The file without `raw_data` of some initializers, for protobuf to parse.
  std::string rest;
  /// The removed data, each with the number of its initializer in the model's
  /// graph.
  std::vector<std::pair<int, llvm::StringRef>> values;
};

/// Separates the values of large weights from a model, so that they are not
/// copied: those of the graph's own initializers with two dimensions or more.
/// Returns nothing if the file is not valid protobuf; protobuf then reports the
/// error.
std::optional<SeparatedModel> separateValues(llvm::StringRef file);

} // namespace gradus::onnx

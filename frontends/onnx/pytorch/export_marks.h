// Reads what torch.export writes into a file about its initializers: whether
// each was a parameter or a buffer, and from which others the exporter computed
// them.
#pragma once

#include "frontends/onnx/file/model_file.h"

#include <set>

namespace gradus::onnx {

/// The key of the mark that says what a value is: "PARAMETER" or "BUFFER".
inline constexpr llvm::StringLiteral kKind =
    "pkg.torch.export.graph_signature.InputSpec.kind";

struct ExportMarks {
  /// Names by kind; all empty in files without such marks, as from other
  /// exporters and from tools that drop metadata.
  std::set<std::string> parameters, buffers;
  /// Float tensors of the model's code, and those that the exporter computed
  /// without parameters.
  std::set<std::string> constants;
  /// Tensors computed from parameters, such as transposed weights.
  std::set<std::string> madeOfParameters;
  /// Whether the file has the program's signature, so that `parameters` is
  /// complete. `missing` has those parameters that are neither initializers nor
  /// part of computed ones.
  bool hasSignature = false;
  std::set<std::string> missing;
  /// Whether who called the exporter says that nothing was merged or folded.
  bool isWhole = false;
};

ExportMarks exportMarks(ModelFile &file);

/// Whether it is a marked buffer that `trainable` does not name in full: a
/// pattern for a part of the model is not meant for its buffers.
bool isKeptBuffer(const ExportMarks &marks, const std::string &name,
                  const std::vector<std::string> &trainable);

} // namespace gradus::onnx

// What torch.export writes into a file about its initializers: whether each was
// a parameter or a buffer, and of what others the exporter computed them.
#pragma once

#include "frontends/onnx/model_file.h"

#include <set>

namespace gradus::onnx {

struct ExportMarks {
  /// Names by kind; all empty in files without such marks, which other
  /// exporters write, and tools that drop metadata.
  std::set<std::string> parameters, buffers;
  /// Float tensors of the model's code, and those that the exporter computed of
  /// no parameter.
  std::set<std::string> constants;
  /// Those that it computed of parameters: transposed weights, for one.
  std::set<std::string> madeOfParameters;
  /// Whether the program's signature stands in the file, so that `parameters`
  /// has all; and those of them that are no initializers, nor part of what was
  /// computed.
  bool hasSignature = false;
  std::set<std::string> missing;
};

ExportMarks exportMarks(ModelFile &file);

/// Whether it is a marked buffer that `trainable` does not name in full: a
/// pattern for a part of the model is not meant for its buffers.
bool isKeptBuffer(const ExportMarks &marks, const std::string &name,
                  const std::vector<std::string> &trainable);

} // namespace gradus::onnx

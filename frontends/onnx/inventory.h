// The contents of a model file that matter for training, without importing it:
// also works for files that cannot be imported.
#pragma once

#include "frontends/onnx/import.h"

namespace gradus {

struct ModelInventory {
  /// Float initializers that the graph uses, as "name 10x84xf32": those that
  /// the options train, and those that are kept.
  std::vector<std::string> parameters, fixed;
  /// A line "weights.bin: 62 tensors (conv1.weight, ...)" for each missing data
  /// file.
  std::vector<std::string> missing;
  /// The names of input sizes that neither the model nor the options give.
  std::vector<std::string> unknownSizes;
  /// Set if there are unknown sizes: inputs and outputs as "image
  /// batchx28x28xf32", the number of trained elements, and unsupported uses of
  /// nodes, as far as they show without sizes.
  std::vector<std::string> inputs, outputs;
  int64_t parameterElements = 0;
  std::string unsupported;
  /// Warnings about what the exporter removed
  /// (frontends/onnx/pytorch/export_losses.h).
  std::vector<std::string> warnings;
};

absl::StatusOr<ModelInventory> inventoryOfOnnx(const std::string &path,
                                               const ImportOptions &options);

} // namespace gradus

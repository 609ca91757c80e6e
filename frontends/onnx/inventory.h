// What a model file holds for training, told before anything is imported: also
// of a file that cannot be.
#pragma once

#include "frontends/onnx/import.h"

namespace gradus {

struct ModelInventory {
  /// Float initializers that the graph uses, as "name 10x84xf32": those to be
  /// trained by the options, and those kept.
  std::vector<std::string> parameters, fixed;
  /// "weights.bin: 62 tensors (conv1.weight, ...)" of each absent data file.
  std::vector<std::string> missing;
  /// Sizes of inputs that neither the model nor the options say, by name.
  std::vector<std::string> unknownSizes;
  /// Where there are such: inputs and outputs as "image batchx28x28xf32", the
  /// number of trained elements, and what the nodes use that is not supported,
  /// as far as it can be told without sizes.
  std::vector<std::string> inputs, outputs;
  int64_t parameterElements = 0;
  std::string unsupported;
  /// What the exporter took out (frontends/onnx/export_losses.h).
  std::vector<std::string> warnings;
};

absl::StatusOr<ModelInventory> inventoryOfOnnx(const std::string &path,
                                               const ImportOptions &options);

} // namespace gradus

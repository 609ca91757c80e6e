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
  /// What the exporter took out (frontends/onnx/export_losses.h).
  std::vector<std::string> warnings;
};

absl::StatusOr<ModelInventory> inventoryOfOnnx(const std::string &path,
                                               const ImportOptions &options);

} // namespace gradus

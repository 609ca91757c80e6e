// Applies to a file the changes that methods made to the model's layers.
#pragma once

#include "frontends/onnx/export/export.h"
#include "frontends/onnx/file/model_file.h"

namespace gradus::onnx {

/// Trained tensors by name.
using TrainedTensors = std::map<std::string, const TrainedTensor *>;

/// Turns a file into the trained model, as the states of its checkpoint show
/// it. Batch normalizations that less_bn removed become Identity; the layer
/// that fc_to_fn normalized gets its formula in ONNX ops and an initializer
/// `<layer>.multiplier`. Unused initializers are removed. Fails if the file has
/// no such layer.
absl::Status rewriteLayers(ModelFile &file, const TrainedTensors &trained);

} // namespace gradus::onnx

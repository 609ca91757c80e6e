// What methods have done to a model's layers, done to its file.
#pragma once

#include "frontends/onnx/export.h"
#include "frontends/onnx/model_file.h"

namespace gradus::onnx {

/// By name.
using TrainedTensors = std::map<std::string, const TrainedTensor *>;

/// Makes a file the one of the model that was trained, as the states of its
/// checkpoint show it. Batch normalizations that less_bn took out become
/// Identity; the layer that fc_to_fn normalized gets its formula in ops of ONNX
/// and an initializer `<layer>.multiplier`. What nothing reads then goes. An
/// error where the file has no such layer.
absl::Status rewriteLayers(ModelFile &file, const TrainedTensors &trained);

} // namespace gradus::onnx

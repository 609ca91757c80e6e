// Adds the normalization of inputs, which the tool does outside of a model, to
// the model.
#pragma once

#include "frontends/onnx/export/export.h"
#include "frontends/onnx/file/onnx.pb.h"

namespace gradus::onnx {

/// Returns the normalizations of the model's inputs; training may normalize
/// labels, too.
std::vector<InputNormalization>
ofInputs(const ::onnx::GraphProto &graph,
         const std::vector<InputNormalization> &all);

/// Replaces all uses of an input by (input - mean) / std, computed by two new
/// nodes. There is one number for all or one for each index of the second axis;
/// fails if the input has other sizes.
absl::Status addNormalization(::onnx::ModelProto &model,
                              const std::vector<InputNormalization> &ofInputs);

} // namespace gradus::onnx

// Normalization of inputs, which the tool does outside of a model, put into it.
#pragma once

#include "frontends/onnx/export.h"

namespace gradus::onnx {

class ModelFile;

/// Those that are of inputs of the model; training may normalize labels, too.
std::vector<InputNormalization>
ofInputs(const ModelFile &file, const std::vector<InputNormalization> &all);

/// Whatever uses an input uses (input - mean) / std instead, made by two nodes
/// in front. The numbers are one for all or one for each place of the second
/// axis; an error where the input has other sizes.
absl::Status addNormalization(ModelFile &file,
                              const std::vector<InputNormalization> &ofInputs);

} // namespace gradus::onnx

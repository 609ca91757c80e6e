// Initializers that no parameter went into: numbers of the model's code, which
// an exporter has made into tensors.
#pragma once

#include "frontends/onnx/export_marks.h"

namespace gradus::onnx {

/// `val_68`, `onnx::Mul_12`: what exporters call what has no name in the model.
bool isMadeUp(llvm::StringRef name);

/// Whether torch.export wrote the file, which calls nodes `node_...`.
bool isTorchExport(const ::onnx::GraphProto &graph);

/// Whether all elements are known to be the same float.
bool holdsOneValue(ModelFile &file, const ::onnx::TensorProto &tensor);

/// Names of float initializers of rank 1 or more that are made up, hold one
/// value, and stand where the model's own parameters would have their names: a
/// factor or term of one element (the scale of attention), states that
/// recurrent layers start from, scale and bias of a normalization. Not slopes,
/// kernels and vectors of channels, which are made of parameters. Where the
/// file's `marks` say what is a constant, that counts. Limits of Clip are
/// constants of any name and rank, unless the marks say that they are
/// parameters or something else uses them, too.
std::set<std::string> exportConstants(ModelFile &file,
                                      const ExportMarks &marks);

/// Whether a scalar is a member of the exported module itself (`logit_scale`).
/// Names of members of modules inside have a dot; of others we believe only
/// files of PyTorch's whose constants stand in nodes.
bool isScalarParameter(ModelFile &file, const ExportMarks &marks,
                       const ::onnx::TensorProto &tensor);

} // namespace gradus::onnx

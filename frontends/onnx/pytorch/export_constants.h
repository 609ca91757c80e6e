// Finds initializers that are not made of parameters: numbers in the model's
// code, which an exporter turned into tensors.
#pragma once

#include "frontends/onnx/pytorch/export_marks.h"

namespace gradus::onnx {

/// Whether exporters made the name for a value without one: `val_68`,
/// `onnx::Mul_12`.
bool isMadeUp(llvm::StringRef name);

/// Whether torch.export wrote the file; it names nodes `node_...`.
bool isTorchExport(const ::onnx::GraphProto &graph);

/// Whether all elements are known to be the same float.
bool holdsOneValue(ModelFile &file, const ::onnx::TensorProto &tensor);

/// Returns the names of float initializers of rank 1 or more with made-up names
/// and one value that are used where the model's own parameters would have
/// their names: a factor or term of one element (the scale of attention),
/// initial states of recurrent layers, scale and bias of a normalization.
/// Slopes, kernels and vectors of channels are excluded, since they may be made
/// of parameters. If the file's `marks` say what is a constant, they decide.
/// Limits of Clip are constants with any name and rank, unless the marks say
/// that they are parameters or they have other uses.
std::set<std::string> exportConstants(ModelFile &file,
                                      const ExportMarks &marks);

/// Whether a scalar is a member of the exported module itself (`logit_scale`).
/// Members of inner modules have a dot in their names; other names count only
/// in PyTorch's files that keep constants in nodes.
bool isScalarParameter(ModelFile &file, const ExportMarks &marks,
                       const ::onnx::TensorProto &tensor);

} // namespace gradus::onnx

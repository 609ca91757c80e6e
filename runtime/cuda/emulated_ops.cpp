// Which operation a command is.

#include "runtime/cuda/emulated_ops.h"

namespace gradus::runtime::cuda {

using artifact::LibraryOp;

static Status checkTypes(const Tensors &tensors, const char *what) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!isNumberType(tensors[i].dtype))
      return invalid(what, " ", i, ": has dtype ", nameOf(tensors[i].dtype),
                     ", which the emulated library does not take");
  return Status();
}

StatusOr<EmulatedOp> emulatedOp(const artifact::LibraryCommand &command) {
  GRADUS_ASSIGN(Tensors inputs, stridedOf(command.inputs(), "input"));
  GRADUS_ASSIGN(Tensors outputs, stridedOf(command.outputs(), "output"));
  GRADUS_TRY(checkTypes(inputs, "input"));
  GRADUS_TRY(checkTypes(outputs, "output"));
  switch (command.op()) {
  case LibraryOp::matmul:
    return matmulOp(command, inputs, outputs);
  case LibraryOp::convolution:
    return convolutionOp(command, inputs, outputs);
  case LibraryOp::convolution_backward_data:
    return convolutionBackwardDataOp(command, inputs, outputs);
  case LibraryOp::convolution_backward_weights:
    return convolutionBackwardWeightsOp(command, inputs, outputs);
  case LibraryOp::attention:
    return attentionOp(command, inputs, outputs);
  case LibraryOp::attention_backward:
    return attentionBackwardOp(command, inputs, outputs);
  case LibraryOp::reorder:
    break;
  }
  return invalid("asks for ", artifact::EnumNameLibraryOp(command.op()),
                 ", which the emulated library does not have");
}

} // namespace gradus::runtime::cuda

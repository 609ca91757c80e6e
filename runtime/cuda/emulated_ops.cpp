// Which operation a command is.

#include "runtime/cuda/emulated_ops.h"

#include "runtime/flat.h"

namespace gradus::runtime::cuda {

using artifact::LibraryOp;

template <typename List>
static Status readTensors(const List *list, const char *what,
                          Tensors &tensors) {
  for (size_t i = 0; i < countOf(list); ++i) {
    auto tensor = stridedOf(*list->Get(i));
    GRADUS_TRY(at(tensor.status(), what, " ", i));
    if (!isNumberType(tensor->dtype))
      return invalid(what, " ", i, ": has dtype ", nameOf(tensor->dtype),
                     ", which the emulated library does not take");
    tensors.push_back(*std::move(tensor));
  }
  return Status();
}

StatusOr<EmulatedOp> emulatedOp(const artifact::LibraryCommand &command) {
  Tensors inputs, outputs;
  GRADUS_TRY(readTensors(command.inputs(), "input", inputs));
  GRADUS_TRY(readTensors(command.outputs(), "output", outputs));
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

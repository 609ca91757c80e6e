// Finds the operation of a command.

#include "runtime/cuda/emulated_ops.h"

#include <algorithm>

namespace gradus::runtime::cuda {

using artifact::LibraryOp;

static Status checkTypes(const Tensors &tensors, const char *what) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!isNumberType(tensors[i].dtype))
      return invalid(what, " ", i, ": has dtype ", nameOf(tensors[i].dtype),
                     ", which the emulated library does not take");
  return Status();
}

/// Unlike real GPUs this library stores all scores of a head at once.
static Status checkScores(const Tensors &inputs) {
  constexpr int64_t kMostScores = int64_t{1} << 30;
  int64_t queries = inputs[0].dims[2], keys = inputs[1].dims[2];
  if (queries > kMostScores / std::max<int64_t>(keys, 1))
    return invalid("the emulated library keeps at most ", kMostScores,
                   " scores of attention, and these are ", queries, " x ",
                   keys);
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
    GRADUS_TRY(checkScores(inputs));
    return attentionOp(command, inputs, outputs);
  case LibraryOp::attention_backward:
    GRADUS_TRY(checkScores(inputs));
    return attentionBackwardOp(command, inputs, outputs);
  case LibraryOp::reorder:
    break;
  }
  return invalid("asks for ", artifact::EnumNameLibraryOp(command.op()),
                 ", which the emulated library does not have");
}

} // namespace gradus::runtime::cuda

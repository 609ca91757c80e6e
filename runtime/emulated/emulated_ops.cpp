// Finds the operation of a command.

#include "runtime/emulated/emulated_ops.h"

#include <algorithm>

namespace gradus::runtime::cuda {

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

namespace {

/// Makes the operation of each call.
struct Maker {
  const artifact::LibraryCommand &command;
  const Tensors &inputs, &outputs;

  StatusOr<EmulatedOp> operator()(const artifact::MatmulCall &) const {
    return matmulOp(command, inputs, outputs);
  }
  StatusOr<EmulatedOp> operator()(const artifact::ConvolutionCall &) const {
    return convolutionOp(command, inputs, outputs);
  }
  StatusOr<EmulatedOp>
  operator()(const artifact::ConvolutionBackwardDataCall &) const {
    return convolutionBackwardDataOp(command, inputs, outputs);
  }
  StatusOr<EmulatedOp>
  operator()(const artifact::ConvolutionBackwardWeightsCall &) const {
    return convolutionBackwardWeightsOp(command, inputs, outputs);
  }
  StatusOr<EmulatedOp> operator()(const artifact::AttentionCall &) const {
    GRADUS_TRY(checkScores(inputs));
    return attentionOp(command, inputs, outputs);
  }
  StatusOr<EmulatedOp>
  operator()(const artifact::AttentionBackwardCall &) const {
    GRADUS_TRY(checkScores(inputs));
    return attentionBackwardOp(command, inputs, outputs);
  }
  StatusOr<EmulatedOp> operator()(const artifact::ReorderCall &) const {
    return invalid(
        "asks for reorder, which the emulated library does not have");
  }
};

} // namespace

StatusOr<EmulatedOp> emulatedOp(const artifact::LibraryCommand &command) {
  GRADUS_ASSIGN(Tensors inputs, stridedOf(command.inputs(), "input"));
  GRADUS_ASSIGN(Tensors outputs, stridedOf(command.outputs(), "output"));
  GRADUS_TRY(checkTypes(inputs, "input"));
  GRADUS_TRY(checkTypes(outputs, "output"));
  auto unknown = []() -> StatusOr<EmulatedOp> {
    return invalid("asks for an operation that this runtime does not know");
  };
  return visitLibraryOp(command, unknown, Maker{command, inputs, outputs});
}

} // namespace gradus::runtime::cuda

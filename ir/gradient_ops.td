// Ops that only affect gradients. They have a header of their own
// (gradient_ops.h), since few sources need them.

#ifndef GRADUS_GRADIENT_OPS_TD
#define GRADUS_GRADIENT_OPS_TD

include "ir/dialect.td"
include "ir/interfaces.td"
include "ir/traits.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StopGradientOp : GradusOp<"stop_gradient", [Pure, SameOperandsAndResultType,
    ComputesOfFewElements, ReturnsExactNumbers,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "The input, as a constant to the gradients";
  let description = [{
    `result = input`. No gradient reaches the input, as behind PyTorch's
    `detach`. With `passing_to` that of the result goes to another value in its
    stead, by which a rounded value can train what it was rounded from (the
    straight-through estimator; Bengio et al., https://arxiv.org/abs/1308.3432).

    Example:

    ```mlir
    gradus.graph @nearest(%x: tensor<32x84xf32>) -> (y: tensor<32x84xf32>, target: tensor<32x84xf32>) {
      %whole = math.roundeven %x : tensor<32x84xf32>
      %y = gradus.stop_gradient %whole passing_to %x : tensor<32x84xf32>
      %target = gradus.stop_gradient %x : tensor<32x84xf32>
      gradus.return %y, %target : tensor<32x84xf32>, tensor<32x84xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, Optional<FloatTensor>:$substitute);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input (`passing_to` $substitute^)? attr-dict `:` type($result)";
  let hasFolder = 1;
}

#endif // GRADUS_GRADIENT_OPS_TD

// Activations whose gradient uses the result, which the next layer keeps
// anyway. Activations that gain nothing by being ops are written with arith and
// math.

#ifndef GRADUS_ACTIVATION_OPS_TD
#define GRADUS_ACTIVATION_OPS_TD

include "ir/ops/tensor_ops.td"

def ClipOp : TensorOp<"clip", [SameOperandsAndResultType, ReturnsExactNumbers,
    DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "x, but at least `low` and at most `high`; NaN stays NaN";
  let description = [{
    `result = min(max(x, low), high)`. Its gradient passes where the result lies
    between the two and is 0 where it equals one of them.

    Example:

    ```mlir
    gradus.graph @relu6(%x: tensor<32x84xf32>) -> (y: tensor<32x84xf32>) {
      %y = gradus.clip %x from 0.0 to 6.0 : tensor<32x84xf32>
      gradus.return %y : tensor<32x84xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, F64Attr:$low, F64Attr:$high);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input `from` $low `to` $high attr-dict `:` type($result)";
}

def LeakyReluOp : TensorOp<"leaky_relu", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "x where it is positive, else `slope` times x";
  let description = [{
    `result = x > 0 ? x : slope * x`. Its gradient is that of the result where
    `x > 0`, and `slope` times that elsewhere, at 0 too.

    Example:

    ```mlir
    gradus.graph @leak(%x: tensor<32x84xf32>) -> (y: tensor<32x84xf32>) {
      %y = gradus.leaky_relu %x slope 0.1 : tensor<32x84xf32>
      gradus.return %y : tensor<32x84xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, F64Attr:$slope);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input `slope` $slope attr-dict `:` type($result)";
}

#endif

// The ops of transformers besides matmul: softmax and the normalizations over
// features.

#ifndef GRADUS_TRANSFORMER_OPS_TD
#define GRADUS_TRANSFORMER_OPS_TD

include "ir/ops/tensor_ops.td"

def SoftmaxOp : TensorOp<"softmax", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "exp(x) over its sum along `axis`, or the logarithm of that";
  let description = [{
    `y = exp(x - max x) / sum exp(x - max x)` along `axis`; with `log`,
    `y = x - max x - log sum exp(x - max x)`. Where all of a row are -inf the
    result is NaN. The gradient of y is `y (g - sum g y)`; with `log`,
    `g - exp(y) sum g`.

    Example:

    ```mlir
    gradus.graph @attend(%scores: tensor<2x4x8x8xf32>) -> (weights: tensor<2x4x8x8xf32>, log: tensor<2x4x8x8xf32>) {
      %weights = gradus.softmax %scores axis 3 : tensor<2x4x8x8xf32>
      %log = gradus.softmax log %scores axis 3 : tensor<2x4x8x8xf32>
      gradus.return %weights, %log : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
    }
    ```
  }];
  let arguments = (ins UnitAttr:$log, FloatTensor:$input, I64Attr:$axis);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "(`log` $log^)? $input `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def LayerNormOp : TensorOp<"layer_norm", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "Each row less its mean, over its standard deviation, times `scale` plus `bias`";
  let description = [{
    `y = (x - mean) / sqrt(variance + epsilon) * scale + bias`, with the mean and
    the population variance over the last dimensions, those that the scale has
    (Ba et al., https://arxiv.org/abs/1607.06450). With `rms` nothing is
    subtracted: `y = x / sqrt(mean of x^2 + epsilon) * scale + bias` (Zhang and
    Sennrich, https://arxiv.org/abs/1910.07467).

    Example:

    ```mlir
    gradus.graph @normalize(%x: tensor<2x8x16xf32>, %scale: tensor<16xf32>,
                            %bias: tensor<16xf32>) -> (y: tensor<2x8x16xf32>, z: tensor<2x8x16xf32>) {
      %y = gradus.layer_norm %x, %scale plus %bias {epsilon = 1.0e-5 : f64}
          : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
      %z = gradus.layer_norm rms %x, %scale {epsilon = 1.0e-5 : f64} : tensor<2x8x16xf32>, tensor<16xf32>
      gradus.return %y, %z : tensor<2x8x16xf32>, tensor<2x8x16xf32>
    }
    ```
  }];
  let arguments = (ins UnitAttr:$rms, FloatTensor:$input, FloatTensor:$scale,
                       Optional<FloatTensor>:$bias, F64Attr:$epsilon);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "(`rms` $rms^)? $input `,` $scale (`plus` $bias^)? attr-dict `:` type($input) `,` type($scale) (`,` type($bias)^)?";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimensions of a row.
    ::llvm::SmallVector<int64_t> getAxes();
  }];
}

#endif

// Batch normalization: by fixed statistics, by those of the batch, and the
// gradient of the latter. Inputs are [N, C, ...]; all else has C elements.

#ifndef GRADUS_BATCH_NORM_OPS_TD
#define GRADUS_BATCH_NORM_OPS_TD

include "ir/ops/tensor_ops.td"

def BatchNormOp : TensorOp<"batch_norm", [Keeps16Bits,
    DeclareOpInterfaceMethods<Decomposable>,
    AllTypesMatch<["input", "result"]>,
    AllTypesMatch<["scale", "bias", "mean", "variance"]>]> {
  let summary = "Normalizes each channel by given statistics";
  let description = [{
    `y = scale * (x - mean) / sqrt(variance + epsilon) + bias`, channel by
    channel. With `momentum` the statistics are running ones, which training
    does not use but keeps: `train-batch-norm` puts `gradus.batch_norm_training`
    in the op's place and writes
    `momentum * old + (1 - momentum) * that of the batch`.

    Example:

    ```mlir
    gradus.program @normalize {
      gradus.state @bn.weight : tensor<6xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.state @bn.bias : tensor<6xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @bn.mean : tensor<6xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
      gradus.state @bn.variance : tensor<6xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @predict(%x: tensor<8x6x24x24xf32>) -> (y: tensor<8x6x24x24xf32>) {
        %scale = gradus.read @bn.weight : tensor<6xf32>
        %bias = gradus.read @bn.bias : tensor<6xf32>
        %mean = gradus.read @bn.mean : tensor<6xf32>
        %variance = gradus.read @bn.variance : tensor<6xf32>
        %y = gradus.batch_norm %x, %scale, %bias mean %mean variance %variance epsilon 1.0e-5 momentum 0.9
            : tensor<8x6x24x24xf32>, tensor<6xf32>
        gradus.return %y : tensor<8x6x24x24xf32>
      }
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, FloatTensor:$scale, FloatTensor:$bias,
                       FloatTensor:$mean, FloatTensor:$variance,
                       F64Attr:$epsilon, OptionalAttr<F64Attr>:$momentum);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `,` $bias `mean` $mean `variance` $variance `epsilon` $epsilon (`momentum` $momentum^)? attr-dict `:` type($input) `,` type($scale)";
  let hasVerifier = 1;
}

def BatchNormTrainingOp : TensorOp<"batch_norm_training", [
    DeclareOpInterfaceMethods<Decomposable>,
    AllTypesMatch<["input", "result"]>,
    AllTypesMatch<["scale", "bias", "mean", "variance"]>]> {
  let summary = "Normalizes each channel by its own mean and variance";
  let description = [{
    `y = scale * (x - mean) / sqrt(variance + epsilon) + bias` with mean and
    variance of each channel over the batch and all positions; the variance is
    divided by the number of elements N, not by N - 1. Gradients flow through
    the statistics.

    Example:

    ```mlir
    gradus.graph @normalize(%x: tensor<8x6x24x24xf32>, %scale: tensor<6xf32>, %bias: tensor<6xf32>)
        -> (y: tensor<8x6x24x24xf32>, mean: tensor<6xf32>, variance: tensor<6xf32>) {
      %y, %mean, %variance = gradus.batch_norm_training %x, %scale, %bias epsilon 1.0e-5
          : tensor<8x6x24x24xf32>, tensor<6xf32>
      gradus.return %y, %mean, %variance : tensor<8x6x24x24xf32>, tensor<6xf32>, tensor<6xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, FloatTensor:$scale, FloatTensor:$bias,
                       F64Attr:$epsilon);
  let results = (outs FloatTensor:$result, FloatTensor:$mean, FloatTensor:$variance);
  let assemblyFormat = "$input `,` $scale `,` $bias `epsilon` $epsilon attr-dict `:` type($input) `,` type($scale)";
  let hasVerifier = 1;
}

def BatchNormBackwardOp : GradusOp<"batch_norm_backward", [Pure,
    DeclareOpInterfaceMethods<Evaluable>, DeclareOpInterfaceMethods<Decomposable>,
    AllTypesMatch<["gradient", "input", "result"]>,
    AllTypesMatch<["scale", "mean", "variance", "scale_gradient", "bias_gradient"]>]> {
  let summary = "Gradients of a normalization by the batch's own statistics";
  let description = [{
    With `r = 1 / sqrt(variance + epsilon)` and `z = (x - mean) r`, sums over the
    elements of a channel: `bias_gradient = sum dy`, `scale_gradient = sum dy z`,
    `dx = scale r (dy - bias_gradient / N - z scale_gradient / N)`. `mean` and
    `variance` are those of the input.

    Example:

    ```mlir
    gradus.graph @normalize_backward(%dy: tensor<8x6x24x24xf32>, %x: tensor<8x6x24x24xf32>,
        %scale: tensor<6xf32>, %mean: tensor<6xf32>, %variance: tensor<6xf32>) -> (dx: tensor<8x6x24x24xf32>) {
      %dx, %dscale, %dbias = gradus.batch_norm_backward %dy, %x, %scale mean %mean variance %variance epsilon 1.0e-5
          : tensor<8x6x24x24xf32>, tensor<6xf32>
      gradus.return %dx : tensor<8x6x24x24xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$gradient, FloatTensor:$input, FloatTensor:$scale,
                       FloatTensor:$mean, FloatTensor:$variance, F64Attr:$epsilon);
  let results = (outs FloatTensor:$result, FloatTensor:$scale_gradient,
                      FloatTensor:$bias_gradient);
  let assemblyFormat = "$gradient `,` $input `,` $scale `mean` $mean `variance` $variance `epsilon` $epsilon attr-dict `:` type($input) `,` type($scale)";
  let hasVerifier = 1;
}

#endif

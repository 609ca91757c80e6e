// Convolution, pooling and losses. Images are [N, C, spatial...], convolution
// weights [out, in / groups, spatial...].

#ifndef GRADUS_NN_OPS_TD
#define GRADUS_NN_OPS_TD

include "ir/ops/tensor_ops.td"

// The attributes of all ops that slide a window over 1-3 spatial dimensions.
defvar windowArguments = (ins DenseI64ArrayAttr:$strides,
                              DenseI64ArrayAttr:$pads_begin,
                              DenseI64ArrayAttr:$pads_end,
                              DenseI64ArrayAttr:$dilations);

class ConvolutionBase<string mnemonic, list<Trait> traits = []>
    : TensorOp<mnemonic, traits> {
  let results = (outs FloatTensor:$result);
  let hasVerifier = 1;
}

def ConvolutionOp : ConvolutionBase<"convolution"> {
  let summary = "Slides `weight` over `input` (cross-correlation)";
  let description = [{
    `y[n, o, p] = sum_{i, k} x[n, g(o) * I + i, p * stride + k * dilation - pad_begin] * w[o, i, k]`
    with I input channels a group; x is zero outside. The output size is
    `(size + pad_begin + pad_end - dilation * (kernel - 1) - 1) / stride + 1`.
    Sums of 16-bit operands are f32; the result is rounded to 16 bits or, as
    the type says, left as `f32`, here and in both gradients.

    Example:

    ```mlir
    gradus.graph @convolve(%x: tensor<8x3x32x32xf32>,
                          %weight: tensor<16x3x3x3xf32>) -> (y: tensor<8x16x16x16xf32>) {
      %y = gradus.convolution %x, %weight strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]
          : tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32> -> tensor<8x16x16x16xf32>
      gradus.return %y : tensor<8x16x16x16xf32>
    }
    ```
  }];
  let arguments = !con((ins FloatTensor:$input, FloatTensor:$weight),
                       windowArguments, (ins DefaultValuedAttr<I64Attr, "1">:$groups));
  let assemblyFormat = "$input `,` $weight `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`groups` $groups^)? attr-dict `:` type($input) `,` type($weight) `->` type($result)";
}

def ConvolutionBackwardDataOp : ConvolutionBase<"convolution_backward_data"> {
  let summary = "Gradient of a convolution's input, from the output's gradient and the weight";
  let description = [{
    `dx[n, g(o) * I + i, p * stride + k * dilation - pad_begin] += dy[n, o, p] * w[o, i, k]`
    for every n, o, i, p, k: a transposed convolution. The attributes are those
    of the convolution; the result has the shape of its input.

    Example:

    ```mlir
    gradus.graph @input_gradient(%dy: tensor<8x16x16x16xf32>,
                                %weight: tensor<16x3x3x3xf32>) -> (dx: tensor<8x3x32x32xf32>) {
      %dx = gradus.convolution_backward_data %dy, %weight strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]
          : tensor<8x16x16x16xf32>, tensor<16x3x3x3xf32> -> tensor<8x3x32x32xf32>
      gradus.return %dx : tensor<8x3x32x32xf32>
    }
    ```
  }];
  let arguments = !con((ins FloatTensor:$gradient, FloatTensor:$weight),
                       windowArguments, (ins DefaultValuedAttr<I64Attr, "1">:$groups));
  let assemblyFormat = "$gradient `,` $weight `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`groups` $groups^)? attr-dict `:` type($gradient) `,` type($weight) `->` type($result)";
}

def ConvolutionBackwardWeightsOp : ConvolutionBase<"convolution_backward_weights"> {
  let summary = "Gradient of a convolution's weight, from the input and the output's gradient";
  let description = [{
    `dw[o, i, k] = sum_{n, p} x[n, g(o) * I + i, p * stride + k * dilation - pad_begin] * dy[n, o, p]`.
    The attributes are those of the convolution; the result has the shape of its
    weight.

    Example:

    ```mlir
    gradus.graph @weight_gradient(%x: tensor<8x3x32x32xf32>,
                                 %dy: tensor<8x16x16x16xf32>) -> (dw: tensor<16x3x3x3xf32>) {
      %dw = gradus.convolution_backward_weights %x, %dy strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]
          : tensor<8x3x32x32xf32>, tensor<8x16x16x16xf32> -> tensor<16x3x3x3xf32>
      gradus.return %dw : tensor<16x3x3x3xf32>
    }
    ```
  }];
  let arguments = !con((ins FloatTensor:$input, FloatTensor:$gradient),
                       windowArguments, (ins DefaultValuedAttr<I64Attr, "1">:$groups));
  let assemblyFormat = "$input `,` $gradient `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`groups` $groups^)? attr-dict `:` type($input) `,` type($gradient) `->` type($result)";
}

class PoolBase<string mnemonic, list<Trait> traits = []>
    : TensorOp<mnemonic, !listconcat([PoolsWindows], traits)> {
  let hasVerifier = 1;
}

def MaxPoolOp : PoolBase<"max_pool", [Keeps16Bits, ReturnsExactNumbers]> {
  let summary = "Largest element of each window, and where in the window it stands";
  let description = [{
    `y[n, c, p] = max_k x[n, c, p * stride + k * dilation - pad_begin]` over the
    k that lie inside x: padding never wins. `indices[n, c, p]` is the row-major
    position in the window of the first such element (the tie rule of PyTorch).

    Example:

    ```mlir
    gradus.graph @halve(%x: tensor<8x6x24x24xf32>) -> (y: tensor<8x6x12x12xf32>) {
      %y, %indices = gradus.max_pool %x window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]
          : tensor<8x6x24x24xf32> -> tensor<8x6x12x12xf32>, tensor<8x6x12x12xi32>
      gradus.return %y : tensor<8x6x12x12xf32>
    }
    ```
  }];
  let arguments = !con((ins FloatTensor:$input, DenseI64ArrayAttr:$window), windowArguments);
  let results = (outs FloatTensor:$result, PositionTensor:$indices);
  let assemblyFormat = "$input `window` $window `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations attr-dict `:` type($input) `->` type($result) `,` type($indices)";
}

def MaxPoolBackwardOp : GradusOp<"max_pool_backward", [Pure, PoolsWindows, ReturnsExactNumbers,
    DeclareOpInterfaceMethods<Evaluable>]> {
  let summary = "Sends each window's gradient to the element that won";
  let description = [{
    `dx[n, c, p * stride + k * dilation - pad_begin] += dy[n, c, p]` where k is the
    position in the window that `indices[n, c, p]` names. The attributes are
    those of the pool; the result has the shape of its input.

    Example:

    ```mlir
    gradus.graph @halve_backward(%dy: tensor<8x6x12x12xf32>, %indices: tensor<8x6x12x12xi32>) -> (dx: tensor<8x6x24x24xf32>) {
      %dx = gradus.max_pool_backward %dy, %indices window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]
          : tensor<8x6x12x12xf32>, tensor<8x6x12x12xi32> -> tensor<8x6x24x24xf32>
      gradus.return %dx : tensor<8x6x24x24xf32>
    }
    ```
  }];
  let hasVerifier = 1;
  let arguments = !con((ins FloatTensor:$gradient, PositionTensor:$indices,
                            DenseI64ArrayAttr:$window), windowArguments);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$gradient `,` $indices `window` $window `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations attr-dict `:` type($gradient) `,` type($indices) `->` type($result)";
}

def AveragePoolOp : PoolBase<"average_pool", [ComputesOfFewElements]> {
  let summary = "Mean of each window";
  let description = [{
    `y[n, c, p] = sum_k x[n, c, p * stride + k * dilation - pad_begin] / count[p]`;
    x is zero outside. With `count_include_pad` the divisor is the window's size,
    else the number of elements of the window that lie inside the input.

    Example:

    ```mlir
    gradus.graph @mean_of_four(%x: tensor<8x6x24x24xf32>) -> (y: tensor<8x6x12x12xf32>) {
      %y = gradus.average_pool %x window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]
          : tensor<8x6x24x24xf32> -> tensor<8x6x12x12xf32>
      gradus.return %y : tensor<8x6x12x12xf32>
    }
    ```
  }];
  let arguments = !con((ins FloatTensor:$input, DenseI64ArrayAttr:$window), windowArguments,
                       (ins UnitAttr:$count_include_pad));
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input `window` $window `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`count_include_pad` $count_include_pad^)? attr-dict `:` type($input) `->` type($result)";
}

def AveragePoolBackwardOp : PoolBase<"average_pool_backward"> {
  let summary = "Spreads each window's gradient evenly over its elements";
  let description = [{
    `dx[n, c, p * stride + k * dilation - pad_begin] += dy[n, c, p] / count[p]` with
    the divisor of the pool, whose attributes it has. Both are linear, and each
    is the other's gradient.

    Example:

    ```mlir
    gradus.graph @mean_of_four_backward(%dy: tensor<8x6x12x12xf32>) -> (dx: tensor<8x6x24x24xf32>) {
      %dx = gradus.average_pool_backward %dy window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]
          : tensor<8x6x12x12xf32> -> tensor<8x6x24x24xf32>
      gradus.return %dx : tensor<8x6x24x24xf32>
    }
    ```
  }];
  let arguments = !con((ins FloatTensor:$gradient, DenseI64ArrayAttr:$window), windowArguments,
                       (ins UnitAttr:$count_include_pad));
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$gradient `window` $window `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`count_include_pad` $count_include_pad^)? attr-dict `:` type($gradient) `->` type($result)";
}

def SoftmaxCrossEntropyOp : TensorOp<"softmax_cross_entropy", [
    DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "Mean negative log-likelihood of the labels under softmax";
  let description = [{
    `loss = mean over labels l != ignore_index of -sum_c t_c log softmax(logits)_c`
    along `class_axis`, with `t = (1 - e) one_hot(l) + e / C` for label smoothing
    e. Labels have the shape of the logits without the class axis. No label
    left, or one that is neither a class nor ignored: NaN.

    Example:

    ```mlir
    gradus.graph @classify(%logits: tensor<32x10xf32>, %label: tensor<32xi64>) -> (loss: tensor<f32>) {
      %loss = gradus.softmax_cross_entropy %logits, %label axis 1
          {label_smoothing = 0.1 : f64} : tensor<32x10xf32>, tensor<32xi64> -> tensor<f32>
      gradus.return %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$logits, LabelTensor:$labels, I64Attr:$class_axis,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs FloatTensor:$loss);
  let assemblyFormat = "$logits `,` $labels `axis` $class_axis attr-dict `:` type($logits) `,` type($labels) `->` type($loss)";
  let hasVerifier = 1;
}

def SoftmaxCrossEntropyBackwardOp : GradusOp<"softmax_cross_entropy_backward", [Pure,
    DeclareOpInterfaceMethods<Evaluable>, DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "Gradient of the mean negative log-likelihood with respect to the logits";
  let description = [{
    `result = gradient * (softmax(logits) - t) / count`, zero where the label is
    ignored, NaN where it is no class; `gradient` is the scalar gradient of the
    loss.

    Example:

    ```mlir
    gradus.graph @classify_backward(%seed: tensor<f32>, %logits: tensor<32x10xf32>, %label: tensor<32xi64>) -> (dlogits: tensor<32x10xf32>) {
      %dlogits = gradus.softmax_cross_entropy_backward %seed, %logits, %label axis 1
          : tensor<f32>, tensor<32x10xf32>, tensor<32xi64> -> tensor<32x10xf32>
      gradus.return %dlogits : tensor<32x10xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$gradient, FloatTensor:$logits, LabelTensor:$labels,
                       I64Attr:$class_axis,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$gradient `,` $logits `,` $labels `axis` $class_axis attr-dict `:` type($gradient) `,` type($logits) `,` type($labels) `->` type($result)";
  let hasVerifier = 1;
}

def MeanSquaredErrorOp : TensorOp<"mean_squared_error", [
    DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "Mean over all elements of (prediction - target)^2";
  let description = [{
    `loss = sum (prediction - target)^2 / N` for N elements. Its gradient is
    `2 (prediction - target) / N`, and the negative of that for the target.

    Example:

    ```mlir
    gradus.graph @regress(%y: tensor<16x1xf32>, %target: tensor<16x1xf32>) -> (loss: tensor<f32>) {
      %loss = gradus.mean_squared_error %y, %target : tensor<16x1xf32>, tensor<16x1xf32> -> tensor<f32>
      gradus.return %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$prediction, FloatTensor:$target);
  let results = (outs FloatTensor:$loss);
  let assemblyFormat = "$prediction `,` $target attr-dict `:` type($prediction) `,` type($target) `->` type($loss)";
  let hasVerifier = 1;
}

def AccuracyOp : GradusOp<"accuracy", [Pure,
    DeclareOpInterfaceMethods<Evaluable>, DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "Fraction of labels that are the first largest logit";
  let description = [{
    `accuracy = sum_n [label[n] = argmax_c logits[n, c]] / sum_n 1` over the n
    whose label is not `ignore_index`; c runs along `class_axis`, and the first
    of several largest logits counts.

    Example:

    ```mlir
    gradus.graph @score(%logits: tensor<32x10xf32>, %label: tensor<32xi64>) -> (accuracy: tensor<f32>) {
      %accuracy = gradus.accuracy %logits, %label axis 1 : tensor<32x10xf32>, tensor<32xi64> -> tensor<f32>
      gradus.return %accuracy : tensor<f32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$logits, LabelTensor:$labels, I64Attr:$class_axis,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels `axis` $class_axis attr-dict `:` type($logits) `,` type($labels) `->` type($result)";
  let hasVerifier = 1;
}

#endif

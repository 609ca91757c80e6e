// Convolution, pooling and losses. Images are [N, C, spatial...], convolution
// weights [out, in / groups, spatial...].

#ifndef GRADUS_NN_OPS_TD
#define GRADUS_NN_OPS_TD

include "ir/tensor_ops.td"

// Attributes of everything that slides a window over 1-3 spatial dimensions.
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
  }];
  let arguments = !con((ins FloatTensor:$input, FloatTensor:$weight),
                       windowArguments, (ins DefaultValuedAttr<I64Attr, "1">:$groups));
  let assemblyFormat = "$input `,` $weight `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`groups` $groups^)? attr-dict `:` type($input) `,` type($weight) `->` type($result)";
}

def ConvolutionBackwardDataOp : ConvolutionBase<"convolution_backward_data"> {
  let summary = "Gradient of a convolution's input, from the output's gradient and the weight";
  let arguments = !con((ins FloatTensor:$gradient, FloatTensor:$weight),
                       windowArguments, (ins DefaultValuedAttr<I64Attr, "1">:$groups));
  let assemblyFormat = "$gradient `,` $weight `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`groups` $groups^)? attr-dict `:` type($gradient) `,` type($weight) `->` type($result)";
}

def ConvolutionBackwardWeightsOp : ConvolutionBase<"convolution_backward_weights"> {
  let summary = "Gradient of a convolution's weight, from the input and the output's gradient";
  let arguments = !con((ins FloatTensor:$input, FloatTensor:$gradient),
                       windowArguments, (ins DefaultValuedAttr<I64Attr, "1">:$groups));
  let assemblyFormat = "$input `,` $gradient `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`groups` $groups^)? attr-dict `:` type($input) `,` type($gradient) `->` type($result)";
}

class PoolBase<string mnemonic, list<Trait> traits = []> : TensorOp<mnemonic, traits> {
  let hasVerifier = 1;
}

def MaxPoolOp : PoolBase<"max_pool"> {
  let summary = "Largest element of each window, and where in the window it stands";
  let description = [{
    `indices` is the row-major position in the window of the first largest
    element (the tie rule of PyTorch); padding never wins.
  }];
  let arguments = !con((ins FloatTensor:$input, DenseI64ArrayAttr:$window), windowArguments);
  let results = (outs FloatTensor:$result, PositionTensor:$indices);
  let assemblyFormat = "$input `window` $window `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations attr-dict `:` type($input) `->` type($result) `,` type($indices)";
}

def MaxPoolBackwardOp : GradusOp<"max_pool_backward", [Pure,
    DeclareOpInterfaceMethods<Evaluable>]> {
  let summary = "Sends each window's gradient to the element that won";
  let hasVerifier = 1;
  let arguments = !con((ins FloatTensor:$gradient, PositionTensor:$indices,
                            DenseI64ArrayAttr:$window), windowArguments);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$gradient `,` $indices `window` $window `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations attr-dict `:` type($gradient) `,` type($indices) `->` type($result)";
}

def AveragePoolOp : PoolBase<"average_pool"> {
  let summary = "Mean of each window";
  let description = [{
    With `count_include_pad` the divisor is the window's size, else the number
    of elements of the window that lie inside the input.
  }];
  let arguments = !con((ins FloatTensor:$input, DenseI64ArrayAttr:$window), windowArguments,
                       (ins UnitAttr:$count_include_pad));
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input `window` $window `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations (`count_include_pad` $count_include_pad^)? attr-dict `:` type($input) `->` type($result)";
}

def AveragePoolBackwardOp : PoolBase<"average_pool_backward"> {
  let summary = "Spreads each window's gradient evenly over its elements";
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
    left: NaN, as in PyTorch.
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
    ignored; `gradient` is the scalar gradient of the loss.
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
  let arguments = (ins FloatTensor:$prediction, FloatTensor:$target);
  let results = (outs FloatTensor:$loss);
  let assemblyFormat = "$prediction `,` $target attr-dict `:` type($prediction) `,` type($target) `->` type($loss)";
  let hasVerifier = 1;
}

def AccuracyOp : GradusOp<"accuracy", [Pure,
    DeclareOpInterfaceMethods<Evaluable>, DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "Fraction of labels that are the first largest logit";
  let description = [{
    Over labels other than `ignore_index`; classes lie along `class_axis`.
  }];
  let arguments = (ins FloatTensor:$logits, LabelTensor:$labels, I64Attr:$class_axis,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels `axis` $class_axis attr-dict `:` type($logits) `,` type($labels) `->` type($result)";
  let hasVerifier = 1;
}

#endif

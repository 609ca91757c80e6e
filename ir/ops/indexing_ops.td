// Ops that slice and join tensors, and gather or add at the indices in an
// integer tensor. Each is linear, and the gradient of another.

#ifndef GRADUS_INDEXING_OPS_TD
#define GRADUS_INDEXING_OPS_TD

include "ir/ops/tensor_ops.td"

def SliceOp : TensorOp<"slice", moving> {
  let summary = "Every `steps`-th element from `starts` on, along each dimension";
  let description = [{
    `result[i] = input[starts + i * steps]`, as many as the result has; a step
    may be negative. Its gradient is the pad back.

    Example:

    ```mlir
    gradus.graph @last_then_first(%x: tensor<4x6xf32>) -> (y: tensor<2x3xf32>) {
      %y = gradus.slice %x starts [3, 1] steps [-3, 2] : tensor<4x6xf32> -> tensor<2x3xf32>
      gradus.return %y : tensor<2x3xf32>
    }
    ```
  }];
  let arguments = (ins AnyStaticTensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input `starts` $starts `steps` $steps attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PadOp : TensorOp<"pad", moving> {
  let summary = "Puts `value` around the elements and `interior` times between them";
  let description = [{
    `result[low + i * (interior + 1)] = input[i]`; elsewhere the result is
    `value`. Dimension d becomes `low + size + (size - 1) * interior + high`
    long. Its gradient is a slice.

    Example:

    ```mlir
    gradus.graph @frame(%x: tensor<2x3xf32>) -> (y: tensor<4x6xf32>) {
      %y = gradus.pad %x low [1, 0] high [1, 1] interior [0, 1] {value = -1.0 : f64}
          : tensor<2x3xf32> -> tensor<4x6xf32>
      gradus.return %y : tensor<4x6xf32>
    }
    ```
  }];
  let arguments = (ins NumericTensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior, DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs NumericTensor:$result);
  let assemblyFormat = "$input `low` $low `high` $high `interior` $interior attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ConcatenateOp : TensorOp<"concatenate", moving> {
  let summary = "One input behind the other along `axis`";
  let description = [{
    `result[o, start_j + a, i] = input_j[o, a, i]`: a runs along `axis`, o over the
    dimensions before it and i over those behind it, and `start_j` is the sum of
    the sizes of the inputs before input j. They agree in all other dimensions.
    Its gradient is a slice for each.

    Example:

    ```mlir
    gradus.graph @skip(%x: tensor<8x3xf32>, %y: tensor<8x5xf32>) -> (both: tensor<8x8xf32>) {
      %both = gradus.concatenate %x, %y axis 1 : tensor<8x3xf32>, tensor<8x5xf32> -> tensor<8x8xf32>
      gradus.return %both : tensor<8x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def GatherOp : TensorOp<"gather", [ReturnsExactNumbers]> {
  let summary = "The slices of the input along `axis` that the indices name";
  let description = [{
    `result[b, o, n, i] = input[b, o, indices[b, n], i]`: b runs over the first
    `batch_dims` dimensions, which both have, o over those of the input up to
    `axis`, n over the other dimensions of the indices, i over what is left of
    the input. A negative index counts from the end. Where an index lies outside,
    the result is NaN (0 in integers), and nothing outside is read.

    Example (an embedding):

    ```mlir
    gradus.graph @embed(%table: tensor<100x16xf32>, %token: tensor<4x8xi64>) -> (y: tensor<4x8x16xf32>) {
      %y = gradus.gather %table at %token axis 0 : tensor<100x16xf32>, tensor<4x8xi64> -> tensor<4x8x16xf32>
      gradus.return %y : tensor<4x8x16xf32>
    }
    ```
  }];
  let arguments = (ins AnyStaticTensor:$input, LabelTensor:$indices, I64Attr:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input `at` $indices `axis` $axis (`batch` $batch_dims^)? attr-dict `:` type($input) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def ScatterAddOp : TensorOp<"scatter_add"> {
  let summary = "Adds slices up where the indices say: the gradient of a gather";
  let description = [{
    `result[b, o, indices[b, n], i] += updates[b, o, n, i]` for every n, from 0
    on, always in the order of n; the dimensions are those of `gather`, whose
    input the result is like. Updates at indices outside are left out.

    Example (the gradient of an embedding):

    ```mlir
    gradus.graph @embed_backward(%dy: tensor<4x8x16xf32>, %token: tensor<4x8xi64>) -> (dtable: tensor<100x16xf32>) {
      %dtable = gradus.scatter_add %dy at %token axis 0 : tensor<4x8x16xf32>, tensor<4x8xi64> -> tensor<100x16xf32>
      gradus.return %dtable : tensor<100x16xf32>
    }
    ```
  }];
  let arguments = (ins NumericTensor:$updates, LabelTensor:$indices, I64Attr:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs NumericTensor:$result);
  let assemblyFormat = "$updates `at` $indices `axis` $axis (`batch` $batch_dims^)? attr-dict `:` type($updates) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

#endif

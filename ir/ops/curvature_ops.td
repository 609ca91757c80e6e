// The ops by which second-order methods measure and invert curvature: second
// moments of activations and gradients, block by block, and inverses of these.

#ifndef GRADUS_CURVATURE_OPS_TD
#define GRADUS_CURVATURE_OPS_TD

include "ir/ops/nn_ops.td"

def GramOp : GradusOp<"gram", [Pure, DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<SummingInterface>]> {
  let summary = "Diagonal blocks of the mean of x x^T over all rows x, or over the patches of an image";
  let description = [{
    A row has the elements of the input along `axis`, and there is one for each
    position in the other dimensions. With a `window` the input is an image
    `[N, C, spatial...]`, and a row is the patch under one position of the
    window, zero outside of the image: element `(c K + k)` of a row is that of
    channel c and tap k, of K taps in row-major order, as in the weight
    `[out, C, taps...]` of a convolution.

    `groups` cuts each row into equal parts, that of a patch between channels,
    as a convolution does. The J columns of a part are cut into blocks of
    `block`, b for short:

    `result[g B + n, i, j] = mean over rows r of r[g J + n b + i] r[g J + n b + j]`

    with B blocks a part. The last block of a part is zero where it has fewer
    columns. Each block is symmetric to the bit. 16-bit operands are summed in
    f32; the result is f32, or f64 of f64. The order of a sum follows from
    shapes, and not from the number of threads.

    Nothing differentiates it: second-order methods measure gradients that
    autodiff has already made.

    Example:

    ```mlir
    gradus.graph @measure(%x: tensor<8x3x32x32xf32>, %dy: tensor<32x10xf32>) -> (a: tensor<2x16x16xf32>, g: tensor<1x10x10xf32>) {
      %a = gradus.gram %x window [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] block 16
          : tensor<8x3x32x32xf32> -> tensor<2x16x16xf32>
      %g = gradus.gram %dy axis 1 block 10 : tensor<32x10xf32> -> tensor<1x10x10xf32>
      gradus.return %a, %g : tensor<2x16x16xf32>, tensor<1x10x10xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, OptionalAttr<I64Attr>:$axis,
                       OptionalAttr<DenseI64ArrayAttr>:$window,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$pads_begin,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$pads_end,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$groups, I64Attr:$block);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input (`axis` $axis^)? (`window` $window^ `strides` $strides `pads` $pads_begin `to` $pads_end `dilations` $dilations)? (`groups` $groups^)? `block` $block attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def WideFloatTensor : StaticTensorOf<RankedTensorOf<[F32, F64]>>;

def InverseOp : TensorOp<"inverse", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SummingInterface>]> {
  let summary = "Inverses of symmetric positive definite matrices";
  let description = [{
    `result[b] = input[b]^-1` for each matrix `[n, n]` in the last two
    dimensions, by the factors of Cholesky; n is at most 512. Only the elements
    on and above the diagonal are read, and the result is symmetric to the bit.
    A matrix that is not positive definite, as far as rounding can tell, gives
    NaN in all of its elements; others do not notice.

    The gradient is that of the elements which are read: with R the result and
    g its gradient, `-R (g + g^T) R` above the diagonal, half of it on the
    diagonal, and 0 below.

    Example:

    ```mlir
    gradus.graph @invert(%x: tensor<5x16x16xf32>) -> (y: tensor<5x16x16xf32>) {
      %y = gradus.inverse %x : tensor<5x16x16xf32>
      gradus.return %y : tensor<5x16x16xf32>
    }
    ```
  }];
  let arguments = (ins WideFloatTensor:$input);
  let results = (outs WideFloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif

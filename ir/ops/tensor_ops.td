// Ops that move, combine or describe elements; all other ops decompose into
// them.

#ifndef GRADUS_TENSOR_OPS_TD
#define GRADUS_TENSOR_OPS_TD

include "ir/dialect.td"
include "ir/interfaces.td"
include "ir/traits.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A pure op with a gradient rule and a reference evaluation.
class TensorOp<string mnemonic, list<Trait> traits = []>
    : GradusOp<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Differentiable>,
        DeclareOpInterfaceMethods<Evaluable>], traits)>;

def ReshapeOp : TensorOp<"reshape", movingAll # [NamesMemory]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    `result[i] = input[i]` in row-major positions. Of several reshapes in a row
    the last one counts; its gradient is the reshape back. Graphs compute with
    integers that have no sign of their own (`i8`); a reshape is what makes
    such of an unsigned input (`ui8`), or the reverse, with the same bits.

    Example:

    ```mlir
    gradus.graph @flatten(%x: tensor<32x16x4x4xf32>) -> (y: tensor<32x256xf32>) {
      %y = gradus.reshape %x : tensor<32x16x4x4xf32> -> tensor<32x256xf32>
      gradus.return %y : tensor<32x256xf32>
    }
    ```
  }];
  let arguments = (ins AnyStaticTensor:$input);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TransposeOp : TensorOp<"transpose", movingAll> {
  let summary = "Dimension i of the result is dimension `permutation[i]` of the input";
  let description = [{
    `result[i_0, i_1, ...] = input[j]` with `j[permutation[d]] = i_d`. Two
    transposes are one; its gradient is the transpose by the inverse.

    Example:

    ```mlir
    gradus.graph @channels_last(%x: tensor<8x3x28x28xf32>) -> (y: tensor<8x28x28x3xf32>) {
      %y = gradus.transpose %x perm [0, 2, 3, 1] : tensor<8x3x28x28xf32> -> tensor<8x28x28x3xf32>
      gradus.return %y : tensor<8x28x28x3xf32>
    }
    ```
  }];
  let arguments = (ins AnyStaticTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input `perm` $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BroadcastOp : TensorOp<"broadcast", movingAll> {
  let summary = "Repeats the input along the dimensions it does not have";
  let description = [{
    Dimension i of the input is dimension `dimensions[i]` of the result, with
    the same size (or size 1, which repeats). `dimensions` is strictly
    increasing. Its gradient is a sum over the other dimensions.

    Example:

    ```mlir
    gradus.graph @add_bias(%x: tensor<32x10xf32>, %bias: tensor<10xf32>) -> (y: tensor<32x10xf32>) {
      %rows = gradus.broadcast %bias dims [1] : tensor<10xf32> -> tensor<32x10xf32>
      %y = arith.addf %x, %rows : tensor<32x10xf32>
      gradus.return %y : tensor<32x10xf32>
    }
    ```
  }];
  let arguments = (ins AnyStaticTensor:$input,
    ConfinedAttr<DenseI64ArrayAttr, [DenseArrayNonNegative<DenseI64ArrayAttr>,
      DenseArrayStrictlySorted<DenseI64ArrayAttr>]>:$dimensions);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input `dims` $dimensions attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ReduceOp : TensorOp<"reduce"> {
  let summary = "Sum, maximum, minimum or mean along `axes`, which disappear";
  let description = [{
    `result[rest] = combine over axes of input[rest, axes]`. NaN is not lost by
    max and min. Gradient: of a sum, the broadcast; of a mean, that over the
    number of elements; of max and min, an even share to each element that won.

    Example:

    ```mlir
    gradus.graph @channel_means(%x: tensor<32x6x24x24xf32>) -> (means: tensor<6xf32>) {
      %means = gradus.reduce mean %x axes [0, 2, 3] : tensor<32x6x24x24xf32> -> tensor<6xf32>
      gradus.return %means : tensor<6xf32>
    }
    ```
  }];
  let arguments = (ins ReductionAttr:$kind, NumericTensor:$input,
    ConfinedAttr<DenseI64ArrayAttr, [DenseArrayNonNegative<DenseI64ArrayAttr>,
      DenseArrayStrictlySorted<DenseI64ArrayAttr>]>:$axes);
  let results = (outs NumericTensor:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def IotaOp : GradusOp<"iota", [Pure, ReturnsExactNumbers, DeclareOpInterfaceMethods<Evaluable>]> {
  let summary = "Each element is its own index along `axis`";
  let description = [{
    `result[i] = i_axis`. Compared with broadcast labels it makes a one-hot mask.

    Example:

    ```mlir
    gradus.graph @class_numbers() -> (classes: tensor<4x10xi64>) {
      %classes = gradus.iota axis 1 : tensor<4x10xi64>
      gradus.return %classes : tensor<4x10xi64>
    }
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs IntegerTensor:$result);
  let assemblyFormat = "`axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MatmulOp : TensorOp<"matmul"> {
  let summary = "Matrix product of the last two dimensions";
  let description = [{
    `result[b, m, n] = sum_k a[b, m, k] * b[b, k, n]`, where `transpose_a` and
    `transpose_b` swap the last two dimensions of an operand first. Leading
    (batch) dimensions are equal; broadcasting is explicit. Sums of 16-bit
    operands are f32; the result is rounded to 16 bits or, as the type says,
    left as `f32`.

    Example:

    ```mlir
    gradus.graph @dense(%x: tensor<32x784xf32>, %weight: tensor<10x784xf32>) -> (y: tensor<32x10xf32>) {
      %y = gradus.matmul %x, %weight transposed : tensor<32x784xf32>, tensor<10x784xf32> -> tensor<32x10xf32>
      gradus.return %y : tensor<32x10xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$a, FloatTensor:$b,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$a (`transposed` $transpose_a^)? `,` $b (`transposed` $transpose_b^)? attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

def ReluOp : TensorOp<"relu", [SameOperandsAndResultType, Keeps16Bits, ReturnsExactNumbers,
    DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "max(x, 0); NaN stays NaN";
  let description = [{
    `result = max(x, 0)`. Its gradient passes where `x > 0` and is 0 elsewhere, at
    0 too.

    Example:

    ```mlir
    gradus.graph @rectify(%x: tensor<32x84xf32>) -> (y: tensor<32x84xf32>) {
      %y = gradus.relu %x : tensor<32x84xf32>
      gradus.return %y : tensor<32x84xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def SigmoidOp : TensorOp<"sigmoid", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    `result = 1 / (1 + exp(-x))`. Its gradient is that of the result times
    `y (1 - y)`.

    Example:

    ```mlir
    gradus.graph @squash(%x: tensor<32x84xf32>) -> (y: tensor<32x84xf32>) {
      %y = gradus.sigmoid %x : tensor<32x84xf32>
      gradus.return %y : tensor<32x84xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def GeluOp : TensorOp<"gelu", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "x times the normal distribution function of x, exact (erf) or by tanh";
  let description = [{
    `x * (1 + erf(x / sqrt(2))) / 2`; with `tanh`:
    `x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2`
    (Hendrycks and Gimpel, https://arxiv.org/abs/1606.08415).

    Example:

    ```mlir
    gradus.graph @two_ways(%x: tensor<32x84xf32>) -> (exact: tensor<32x84xf32>, near: tensor<32x84xf32>) {
      %exact = gradus.gelu %x : tensor<32x84xf32>
      %near = gradus.gelu %x tanh : tensor<32x84xf32>
      gradus.return %exact, %near : tensor<32x84xf32>, tensor<32x84xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, UnitAttr:$tanh);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input (`tanh` $tanh^)? attr-dict `:` type($result)";
}

#endif

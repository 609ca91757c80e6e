// Ops that move, combine or describe elements; what everything else is built of.

#ifndef GRADUS_TENSOR_OPS_TD
#define GRADUS_TENSOR_OPS_TD

include "ir/dialect.td"
include "ir/interfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A pure op with a gradient rule and a reference evaluation.
class TensorOp<string mnemonic, list<Trait> traits = []>
    : GradusOp<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Differentiable>,
        DeclareOpInterfaceMethods<Evaluable>], traits)>;

def ReshapeOp : TensorOp<"reshape"> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins AnyStaticTensor:$input);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TransposeOp : TensorOp<"transpose"> {
  let summary = "Dimension i of the result is dimension `permutation[i]` of the input";
  let arguments = (ins AnyStaticTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input `perm` $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BroadcastOp : TensorOp<"broadcast"> {
  let summary = "Repeats the input along the dimensions it does not have";
  let description = [{
    Dimension i of the input is dimension `dimensions[i]` of the result, with
    the same size (or size 1, which repeats). `dimensions` is strictly
    increasing. Its gradient is a sum over the other dimensions.
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
  let arguments = (ins ReductionAttr:$kind, NumericTensor:$input,
    ConfinedAttr<DenseI64ArrayAttr, [DenseArrayNonNegative<DenseI64ArrayAttr>,
      DenseArrayStrictlySorted<DenseI64ArrayAttr>]>:$axes);
  let results = (outs NumericTensor:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def IotaOp : GradusOp<"iota", [Pure, DeclareOpInterfaceMethods<Evaluable>]> {
  let summary = "Each element is its own index along `axis`";
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
    (batch) dimensions are equal; broadcasting is explicit.
  }];
  let arguments = (ins FloatTensor:$a, FloatTensor:$b,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$a (`transposed` $transpose_a^)? `,` $b (`transposed` $transpose_b^)? attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

def ReluOp : TensorOp<"relu", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "max(x, 0); NaN stays NaN";
  let arguments = (ins FloatTensor:$input);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def SigmoidOp : TensorOp<"sigmoid", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "1 / (1 + exp(-x))";
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
  }];
  let arguments = (ins FloatTensor:$input, UnitAttr:$tanh);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input (`tanh` $tanh^)? attr-dict `:` type($result)";
}

#endif

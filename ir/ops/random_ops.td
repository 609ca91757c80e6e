// Random numbers as a function of their index, and dropout.

#ifndef GRADUS_RANDOM_OPS_TD
#define GRADUS_RANDOM_OPS_TD

include "ir/ops/tensor_ops.td"

def CounterTensor
    : Type<TensorRankOf<[I64], [0]>.predicate, "tensor<i64>", "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;

def RandomBitsOp : GradusOp<"random_bits", [Pure,
    DeclareOpInterfaceMethods<Evaluable>]> {
  let summary = "32 random bits in each element, a function of seed, stream, step and place";
  let description = [{
    `result[i] = the first word of Philox4x32-10 of the counter (i, step, stream)
    under the key seed`, at least 0 and less than 2^32, with i the element's
    place in row-major order, counted from `first` (0) on (Salmon et al., "Parallel Random Numbers: As Easy as
    1, 2, 3", SC 2011). No state is kept: the same step draws the same numbers,
    on any number of threads.

    Example:

    ```mlir
    gradus.graph @coins(%step: tensor<i64>) -> (heads: tensor<4x10xi1>) {
      %bits = gradus.random_bits %step stream 0 seed 1 : tensor<4x10xi64>
      %half = arith.constant dense<2147483648> : tensor<4x10xi64>
      %heads = arith.cmpi slt, %bits, %half : tensor<4x10xi64>
      gradus.return %heads : tensor<4x10xi1>
    }
    ```
  }];
  let arguments = (ins CounterTensor:$step, Optional<CounterTensor>:$first,
                       I64Attr:$stream, I64Attr:$seed);
  let results = (outs StaticTensorOf<RankedTensorOf<[I64]>>:$result);
  let assemblyFormat = "$step (`from` $first^)? `stream` $stream `seed` $seed attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$step,
                                 "int64_t":$stream, "int64_t":$seed), [{
    build($_builder, $_state, result, step, ::mlir::Value(), stream, seed);
  }]>];
  let extraClassDeclaration = [{
    /// The bits of one element, from its place and the step, both i64.
    static ::mlir::Value buildBits(::mlir::OpBuilder &builder,
                                   ::mlir::Location loc, ::mlir::Value place,
                                   ::mlir::Value step, int64_t stream,
                                   int64_t seed);
  }];
}

def DropoutOp : TensorOp<"dropout", [SameOperandsAndResultType, ComputesOfFewElements,
    DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "Drops elements in training; gives its input else";
  let description = [{
    `y = x`. In training, `train-dropout` puts in the op's place
    `y = x / (1 - ratio)` for an element that stays, and 0 for one that does not,
    which happens with probability `ratio` (Srivastava et al., JMLR 2014).
    Attention drops probabilities by itself.

    Example:

    ```mlir
    gradus.graph @hide(%x: tensor<32x100xf32>) -> (y: tensor<32x100xf32>) {
      %y = gradus.dropout %x ratio 0.1 : tensor<32x100xf32>
      gradus.return %y : tensor<32x100xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, F64Attr:$ratio);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "$input `ratio` $ratio attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // GRADUS_RANDOM_OPS_TD

// The passes of codegen, in the order of codegen/pipeline.cpp.

#ifndef GRADUS_CODEGEN_PASSES_TD
#define GRADUS_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def Select : Pass<"select", "::gradus::ProgramOp"> {
  let summary = "Gives large products and convolutions to the vendor's library";
  let description = [{
    Matrix products and convolutions of `f32` and `bf16` become `plan.library` calls where
    the library (oneDNN on CPU) is faster than our own code: from 50 MFLOP on,
    with 32 channels or more. On cards (`provider=cuda`: cuBLASLt and cuDNN)
    those of `f16` do too, from 4 MFLOP on, and attention where the recipe
    computes in 16 bits, with a mask or without, unless it is learned. A bias and
    an activation that nobody else reads before become the call's epilogue. On
    cards a product of matrices may also give what
    a gelu (tanh) behind it is of, for the gradient, take gelu's gradient in, and
    give the sum of an operand along what is multiplied: beside the gradient of
    weights that of their bias. Convolutions run in the layouts that the library
    asks for, with `reorder` calls around them.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (y: tensor<512x512xf32>) {
        %0 = gradus.matmul %x, %w : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
        gradus.return %0 : tensor<512x512xf32>
      }
    }
    ```

    After (layouts left out):

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (y: tensor<512x512xf32>) {
        %0 = plan.library "matmul"(%x, %w) config {} layouts [] {flops = 268435456 : i64, label = "matmul"} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
        gradus.return %0 : tensor<512x512xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"library", "library", "std::string", /*default=*/"\"auto\"",
           "Which products: auto (by size), never, always">,
    Option<"narrow", "narrow", "bool", /*default=*/"true",
           "Products of bf16 too: the target has instructions for them">,
    Option<"provider", "provider", "std::string", /*default=*/"\"onednn\"",
           "Whose library: onednn, or cuda's">,
    Option<"epilogues", "epilogues", "std::string", /*default=*/"\"all\"",
           "What goes with products: all that the library takes, bias alone, or none">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def PropagateLayouts : Pass<"propagate-layouts", "::gradus::ProgramOp"> {
  let summary = "Lets the work between library calls run on blocked channels";
  let description = [{
    The library's convolutions have activations as `[N, C/16, H, W, 16]`, on
    cards as `[N, 1, H, W, C]`.
    Elementwise ops between them run in that shape, broadcasts along channels
    are made in it, and reductions that leave nothing behind the channels read
    it. A reorder that undoes another goes, and so does what nobody reads.
    Weights are reordered by the library, as their layouts differ from call to
    call.

    Before (configurations left out):

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<2x2x5x5x16xf32>, %c: tensor<32xf32>) -> (y: tensor<2x2x5x5x16xf32>, s: tensor<32xf32>) {
        %0 = plan.library "reorder"(%x) config {} layouts [{blocks}, {plain} ] {label = "reorder"} : (tensor<2x2x5x5x16xf32>) -> tensor<2x32x5x5xf32>
        %1 = gradus.relu %0 : tensor<2x32x5x5xf32>
        %2 = gradus.broadcast %c dims [1] : tensor<32xf32> -> tensor<2x32x5x5xf32>
        %3 = arith.mulf %1, %2 : tensor<2x32x5x5xf32>
        %4 = gradus.reduce sum %3 axes [0, 2, 3] : tensor<2x32x5x5xf32> -> tensor<32xf32>
        %5 = plan.library "reorder"(%3) config {} layouts [{plain}, {blocks} ] {label = "reorder"} : (tensor<2x32x5x5xf32>) -> tensor<2x2x5x5x16xf32>
        gradus.return %5, %4 : tensor<2x2x5x5x16xf32>, tensor<32xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<2x2x5x5x16xf32>, %c: tensor<32xf32>) -> (y: tensor<2x2x5x5x16xf32>, s: tensor<32xf32>) {
        %0 = gradus.relu %x : tensor<2x2x5x5x16xf32>
        %1 = gradus.reshape %c : tensor<32xf32> -> tensor<2x16xf32>
        %2 = gradus.broadcast %1 dims [1, 4] : tensor<2x16xf32> -> tensor<2x2x5x5x16xf32>
        %3 = arith.mulf %0, %2 : tensor<2x2x5x5x16xf32>
        %4 = gradus.reduce sum %3 axes [0, 2, 3] : tensor<2x2x5x5x16xf32> -> tensor<2x16xf32>
        %5 = gradus.reshape %4 : tensor<2x16xf32> -> tensor<32xf32>
        gradus.return %3, %5 : tensor<2x2x5x5x16xf32>, tensor<32xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"provider", "provider", "std::string", /*default=*/"\"onednn\"",
           "Whose library: onednn, or cuda's, which reorders nothing: reorders become transposes">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def MergeRows : Pass<"merge-rows", "::gradus::ProgramOp"> {
  let summary = "Keeps the rows of matrices in one dimension between products";
  let description = [{
    A value that is a view `[N, T, ...]` of a matrix `[N T, ...]` is worked on as
    the matrix: elementwise ops, broadcasts and reductions of rows or of all of
    them. Rows are the items of kernels, and where they are in one dimension a
    layer norm or a softmax with its loss is one kernel on a card.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> (y: tensor<6x8xf32>, s: tensor<2x3xf32>) {
        %0 = gradus.reshape %x : tensor<6x8xf32> -> tensor<2x3x8xf32>
        %1 = gradus.broadcast %b dims [2] : tensor<8xf32> -> tensor<2x3x8xf32>
        %2 = arith.addf %0, %1 : tensor<2x3x8xf32>
        %3 = gradus.reduce sum %2 axes [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
        %4 = gradus.reshape %2 : tensor<2x3x8xf32> -> tensor<6x8xf32>
        gradus.return %4, %3 : tensor<6x8xf32>, tensor<2x3xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> (y: tensor<6x8xf32>, s: tensor<2x3xf32>) {
        %0 = gradus.broadcast %b dims [1] : tensor<8xf32> -> tensor<6x8xf32>
        %1 = arith.addf %x, %0 : tensor<6x8xf32>
        %2 = gradus.reduce sum %1 axes [1] : tensor<6x8xf32> -> tensor<6xf32>
        %3 = gradus.reshape %2 : tensor<6xf32> -> tensor<2x3xf32>
        gradus.return %1, %3 : tensor<6x8xf32>, tensor<2x3xf32>
      }
    }
    ```
  }];
}

def LowerToNests : Pass<"lower-to-nests", "::gradus::ProgramOp"> {
  let summary = "Writes every op of a graph as loop nests";
  let description = [{
    Each op becomes one `plan.nest` on tensors, a few at most: elementwise ops by
    their interface, matmul, convolutions (over padded copies, so that the
    contraction itself needs no guard), pooling, reductions and what moves
    elements. Splat constants become scalars in the nests. `gradus.reshape`
    stays: it is another view of the same memory.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> (y: tensor<4x8xf32>) {
        %0 = gradus.broadcast %b dims [1] : tensor<8xf32> -> tensor<4x8xf32>
        %1 = arith.addf %x, %0 : tensor<4x8xf32>
        gradus.return %1 : tensor<4x8xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> (y: tensor<4x8xf32>) {
        %0 = plan.nest parallel [4, 8] reduced [] with(%b : tensor<8xf32>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        then_input_maps = [affine_map<(d0, d1) -> (d1)>]}
            map {
            } then {
            ^bb0(%e: f32):
              plan.yield %e : f32
            } -> tensor<4x8xf32>
        %1 = plan.nest parallel [4, 8] reduced [] with(%x, %0 : tensor<4x8xf32>, tensor<4x8xf32>)
            attributes {combine = [], guards = [unit, unit], map_input_maps = [],
                        output_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        then_input_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]}
            map {
            } then {
            ^bb0(%e: f32, %f: f32):
              %sum = arith.addf %e, %f : f32
              plan.yield %sum : f32
            } -> tensor<4x8xf32>
        gradus.return %1 : tensor<4x8xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def Fuse : Pass<"fuse", "::gradus::ProgramOp"> {
  let summary = "Joins nests, so that values stay in registers";
  let description = [{
    * What only moves elements is read through: transposes, broadcasts, indices.
    * Elementwise work goes behind the nest that computes its operands (bias,
      activation and residual behind a contraction); results that others need
      stay, so that a nest may have several.
    * Elementwise work goes before a reduction that is its only reader; more
      readers compute it again only if it is cheap.
    * Nests over the same elements become one.
    * Equal nests become one, nests without readers go.

    Updates of states stay apart from their gradients, for one launch of all.
    Long chains become several nests, of `most-work` and `most-reads` each.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %0 = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {
            } then {
            ^bb0(%e: f32):
              %exp = math.exp %e : f32
              plan.yield %exp : f32
            } -> tensor<4xf32>
        %1 = plan.nest parallel [4] reduced [] with(%0 : tensor<4xf32>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {
            } then {
            ^bb0(%e: f32):
              %square = arith.mulf %e, %e : f32
              plan.yield %square : f32
            } -> tensor<4xf32>
        gradus.return %1 : tensor<4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %0 = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {
            } then {
            ^bb0(%e: f32):
              %exp = math.exp %e : f32
              %square = arith.mulf %exp, %exp : f32
              plan.yield %square : f32
            } -> tensor<4xf32>
        gradus.return %0 : tensor<4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"mostWork", "most-work", "int64_t", /*default=*/"512",
           "Nests that together do more for a point (in adds, about) stay apart">,
    Option<"mostReads", "most-reads", "int64_t", /*default=*/"64",
           "Nests that together read more tensors stay apart">,
    Option<"workTwice", "work-twice", "int64_t", /*default=*/"0",
           "Up to so much work for a point is done twice rather than stored, of no more bytes than it would store; little work is in any case">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def NarrowResults : Pass<"narrow-results", "::gradus::ProgramOp"> {
  let summary = "Stores numbers of 16 bits before they are widened";
  let description = [{
    A nest whose result is numbers of 16 bits, widened, gives them as they were,
    and the nests that read them widen them: the numbers are the same, and half
    as many bytes or fewer go through memory. Where the nest gives the narrow
    numbers, too, the wide ones go. What a product of our own reads, or a
    library, an output or a state, stays as it is.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<8xbf16>) -> (y: tensor<8xbf16>, z: tensor<8xf32>) {
        %0:2 = plan.nest parallel [8] reduced [] with(%x : tensor<8xbf16>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {} then {
            ^bb0(%e: bf16):
              %n = arith.negf %e : bf16
              %w = arith.extf %n : bf16 to f32
              plan.yield %n, %w : bf16, f32
            } -> tensor<8xbf16>, tensor<8xf32>
        %1 = plan.nest parallel [8] reduced [] with(%0#1 : tensor<8xf32>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (7 - d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {} then {
            ^bb0(%e: f32):
              %s = arith.mulf %e, %e : f32
              plan.yield %s : f32
            } -> tensor<8xf32>
        gradus.return %0#0, %1 : tensor<8xbf16>, tensor<8xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<8xbf16>) -> (y: tensor<8xbf16>, z: tensor<8xf32>) {
        %0 = plan.nest parallel [8] reduced [] with(%x : tensor<8xbf16>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {} then {
            ^bb0(%e: bf16):
              %n = arith.negf %e : bf16
              plan.yield %n : bf16
            } -> tensor<8xbf16>
        %1 = plan.nest parallel [8] reduced [] with(%0 : tensor<8xbf16>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (7 - d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {} then {
            ^bb0(%e: bf16):
              %w = arith.extf %e : bf16 to f32
              %s = arith.mulf %w, %w : f32
              plan.yield %s : f32
            } -> tensor<8xf32>
        gradus.return %0, %1 : tensor<8xbf16>, tensor<8xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::gradus::plan::PlanDialect", "::mlir::arith::ArithDialect"];
}

def JoinSums : Pass<"join-sums", "::gradus::ProgramOp"> {
  let summary = "Reads what two reductions reduce once";
  let description = [{
    Two nests that reduce the same elements of a tensor become one, also where
    what follows the second's sums asks for what follows the first's, at the same
    point: a variance for its mean, the logarithm of a sum of exponentials for
    the score of a label.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4x512xf32>) -> (m: tensor<4xf32>, d: tensor<4xf32>) {
        %0 = plan.nest parallel [4] reduced [512] ins(%x : tensor<4x512xf32>)
            attributes {combine = [#gradus<reduction sum>], guards = [unit],
                        map_input_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        output_maps = [affine_map<(d0) -> (d0)>], then_input_maps = []}
            map {
            ^bb0(%e: f32):
              plan.yield %e : f32
            } then {
            ^bb0(%sum: f32):
              plan.yield %sum : f32
            } -> tensor<4xf32>
        %1 = plan.nest parallel [4] reduced [512] ins(%x : tensor<4x512xf32>) with(%0 : tensor<4xf32>)
            attributes {combine = [#gradus<reduction sum>], guards = [unit, unit],
                        map_input_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        output_maps = [affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {
            ^bb0(%e: f32):
              %s = arith.mulf %e, %e : f32
              plan.yield %s : f32
            } then {
            ^bb0(%squares: f32, %mean: f32):
              %d = arith.subf %squares, %mean : f32
              plan.yield %d : f32
            } -> tensor<4xf32>
        gradus.return %0, %1 : tensor<4xf32>, tensor<4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4x512xf32>) -> (m: tensor<4xf32>, d: tensor<4xf32>) {
        %0:2 = plan.nest parallel [4] reduced [512] ins(%x : tensor<4x512xf32>)
            attributes {combine = [#gradus<reduction sum>, #gradus<reduction sum>], guards = [unit],
                        map_input_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        output_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                        then_input_maps = []}
            map {
            ^bb0(%e: f32):
              %s = arith.mulf %e, %e : f32
              plan.yield %e, %s : f32, f32
            } then {
            ^bb0(%sum: f32, %squares: f32):
              %d = arith.subf %squares, %sum : f32
              plan.yield %sum, %d : f32, f32
            } -> tensor<4xf32>, tensor<4xf32>
        gradus.return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def SplitReductions : Pass<"split-reductions", "::gradus::ProgramOp"> {
  let summary = "Cuts long sums over samples into parts for the threads";
  let description = [{
    A nest that reduces rows of large inputs to little (the gradient of a
    convolution's weights) becomes one that reduces 4 rows or more for each of
    some parts, and one that combines the parts. The cut depends on shapes and
    options only: the result is the same for any number of threads. With
    `most-points` all parts together have no more points than that, and rows are
    cut too where rows alone are too few.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<32x65536xf32>) -> (y: tensor<f32>) {
        %0 = plan.nest parallel [] reduced [32, 65536] ins(%x : tensor<32x65536xf32>)
            attributes {combine = [#gradus<reduction sum>], guards = [unit],
                        map_input_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        output_maps = [affine_map<() -> ()>], then_input_maps = []}
            map {
            ^bb0(%e: f32):
              plan.yield %e : f32
            } then {
            ^bb0(%sum: f32):
              plan.yield %sum : f32
            } -> tensor<f32>
        gradus.return %0 : tensor<f32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<32x65536xf32>) -> (y: tensor<f32>) {
        %0 = plan.nest parallel [8] reduced [4, 65536] ins(%x : tensor<32x65536xf32>)
            attributes {combine = [#gradus<reduction sum>], guards = [unit],
                        map_input_maps = [affine_map<(d0, d1, d2) -> (d0 * 4 + d1, d2)>],
                        output_maps = [affine_map<(d0) -> (d0)>], then_input_maps = []}
            map {
            ^bb0(%e: f32):
              plan.yield %e : f32
            } then {
            ^bb0(%sum: f32):
              plan.yield %sum : f32
            } -> tensor<8xf32>
        %1 = plan.nest parallel [] reduced [8] ins(%0 : tensor<8xf32>)
            attributes {combine = [#gradus<reduction sum>], guards = [unit], label = "reduce",
                        map_input_maps = [affine_map<(d0) -> (d0)>],
                        output_maps = [affine_map<() -> ()>], then_input_maps = []}
            map {
            ^bb0(%e: f32):
              plan.yield %e : f32
            } then {
            ^bb0(%sum: f32):
              plan.yield %sum : f32
            } -> tensor<f32>
        gradus.return %1 : tensor<f32>
      }
    }
    ```
  }];
  let options = [
    Option<"mostParts", "most-parts", "int64_t", /*default=*/"16",
           "The most parts of a sum">,
    Option<"leastWork", "least-work", "int64_t", /*default=*/"100000",
           "Work (in adds, about) from which on a second launch is worth it">,
    Option<"mostPoints", "most-points", "int64_t", /*default=*/"0",
           "Points of all parts together, for which rows are cut too; 0: any, of whole rows">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def PadRows : Pass<"pad-rows", "::gradus::ProgramOp"> {
  let summary = "Gives the rows of what a library multiplies an aligned length";
  let description = [{
    A tensor that a library's product reads or writes, and besides only nests,
    gets room for a few numbers more at the end of each row where rows are no
    multiple of `alignment` bytes: at most a 32nd of a row. Nobody writes or
    reads them: nests keep their points, and products their sizes. Of rows of
    50257 numbers in 16 bits each begins at another alignment, and products
    would have to load number by number.

    Inputs, outputs and states keep the rows that they have, and so does what a
    nest takes in a line, without regard to rows.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<64x32xf32>, %w: tensor<32x1031xf32>) -> (y: tensor<64xf32>) {
        %0 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 64, 32>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 64, 32>, strides = array<i64: 32, 1>}, {dims = array<i64: 32, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 32, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 64, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 64, 1031>, strides = array<i64: 1031, 1>} ] : (tensor<64x32xf32>, tensor<32x1031xf32>) -> tensor<64x1031xf32>
        %1 = plan.nest parallel [64] reduced [1031] ins(%0 : tensor<64x1031xf32>)
            attributes {combine = [#gradus<reduction max>], guards = [unit],
                        map_input_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        output_maps = [affine_map<(d0) -> (d0)>], then_input_maps = []}
            map {
            ^bb0(%e: f32):
              plan.yield %e : f32
            } then {
            ^bb0(%max: f32):
              plan.yield %max : f32
            } -> tensor<64xf32>
        gradus.return %1 : tensor<64xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<64x32xf32>, %w: tensor<32x1031xf32>) -> (y: tensor<64xf32>) {
        %0 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 64, 32>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 64, 32>, strides = array<i64: 32, 1>}, {dims = array<i64: 32, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 32, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 64, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 64, 1031>, strides = array<i64: 1032, 1>} ] : (tensor<64x32xf32>, tensor<32x1031xf32>) -> tensor<64x1032xf32>
        %1 = plan.nest parallel [64] reduced [1031] ins(%0 : tensor<64x1032xf32>)
            attributes {combine = [#gradus<reduction max>], guards = [unit],
                        map_input_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        output_maps = [affine_map<(d0) -> (d0)>], then_input_maps = []}
            map {
            ^bb0(%e: f32):
              plan.yield %e : f32
            } then {
            ^bb0(%max: f32):
              plan.yield %max : f32
            } -> tensor<64xf32>
        gradus.return %1 : tensor<64xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", /*default=*/"16",
           "Bytes that the length of rows is to be a multiple of">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def FormKernels : Pass<"form-kernels", "::gradus::ProgramOp"> {
  let summary = "Makes kernels of nests and launches them";
  let description = [{
    A tiny graph becomes one `serial` kernel with its inner values in scratch.
    Else small nests share serial kernels, nests over the same rows share kernels
    split by rows, and elementwise updates of states become `flat` kernels, of
    which one launch serves all states of the same structure. Equal kernels are
    kept once in the program. `inplace` of a launch says which operand's memory a
    result may take.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %0 = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {
            } then {
            ^bb0(%e: f32):
              %exp = math.exp %e : f32
              plan.yield %exp : f32
            } -> tensor<4xf32>
        gradus.return %0 : tensor<4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %0 = plan.launch @kernel0_copy(%x) items [1] grain 1 inplace [0] {label = "copy"} : (tensor<4xf32>) -> tensor<4xf32>
        gradus.return %0 : tensor<4xf32>
      }
      plan.kernel @kernel0_copy(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64, items = 1 : i64, split = 0 : i32} {
        plan.nest parallel [4] reduced [] with(%x : memref<4xf32>) outs(%y : memref<4xf32>)
            attributes {combine = [], guards = [unit], map_input_maps = [],
                        output_maps = [affine_map<(d0) -> (d0)>],
                        then_input_maps = [affine_map<(d0) -> (d0)>]}
            map {
            } then {
            ^bb0(%e: f32):
              %exp = math.exp %e : f32
              plan.yield %exp : f32
            }
        plan.end
      }
    }
    ```
  }];
  let options = [
    Option<"tinyWork", "tiny-work", "int64_t", /*default=*/"2000000",
           "A graph of less work than this (in adds, about) is one kernel">,
    Option<"smallWork", "small-work", "int64_t", /*default=*/"16000",
           "A nest of less work than this shares a serial kernel">,
    Option<"freedBytes", "freed-bytes", "int64_t", /*default=*/"16777216",
           "A launch that will free this much, gradients say, takes no more in">,
    Option<"scratchBytes", "scratch-bytes", "int64_t", /*default=*/"131072",
           "The most scratch of a kernel">,
    Option<"blockWork", "block-work", "int64_t", /*default=*/"32768",
           "Work (in adds, about) for which items of rows are handed out together">,
    Option<"blockBytes", "block-bytes", "int64_t", /*default=*/"16384",
           "Bytes of results for which they are, if that is less">,
    Option<"mostBlocks", "most-blocks", "int64_t", /*default=*/"64",
           "So many times at most items are handed out">,
    Option<"movedBytes", "moved-bytes", "int64_t", /*default=*/"65536",
           "Bytes through memory for which items are handed out together that"
           " little is computed of: flat ones, slices at indices">,
    Option<"leastRows", "least-rows", "int64_t", /*default=*/"1",
           "Fewer rows than this, if they are long, pass nothing on in a kernel:"
           " each nest has one, which may run all its points at once">,
    Option<"mostNests", "most-nests", "int64_t", /*default=*/"1000000000",
           "A kernel has no more nests than this">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def KeepEpilogues : Pass<"keep-epilogues", "::gradus::ProgramOp"> {
  let summary = "Has a kernel for what stands behind a library's product";
  let description = [{
    A card's library says at load whether it has an algorithm for a product with
    its bias and activation. For where it has none, each such call names a kernel
    that computes them of the product in f32: it reads the product, then the
    call's third operand, and writes the call's results, each rounded once.
    Products that sum an operand beside themselves need none. Equal kernels are
    kept once.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4x16xbf16>, %w: tensor<16x8xbf16>, %b: tensor<8xbf16>) -> (y: tensor<4x8xbf16>) {
        %0 = plan.library "matmul"(%x, %w, %b) config {activation = "relu"} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 1, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>} ] {label = "matmul+bias+relu"} : (tensor<4x16xbf16>, tensor<16x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
        gradus.return %0 : tensor<4x8xbf16>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4x16xbf16>, %w: tensor<16x8xbf16>, %b: tensor<8xbf16>) -> (y: tensor<4x8xbf16>) {
        %0 = plan.library "matmul"(%x, %w, %b) config {activation = "relu"} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 1, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>} ] {epilogue = @kernel0_epilogue_bias_relu, label = "matmul+bias+relu"} : (tensor<4x16xbf16>, tensor<16x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
        gradus.return %0 : tensor<4x8xbf16>
      }
      plan.kernel @kernel0_epilogue_bias_relu(%product: memref<32xf32>, %bias: memref<8xbf16>, %y: memref<32xbf16>) attributes {inputs = 2 : i64, items = 4 : i64, split = #plan<split rows>} {
        plan.nest parallel [4, 8] reduced [] with(%product, %bias : memref<32xf32>, memref<8xbf16>) outs(%y : memref<32xbf16>)
            attributes {combine = [], guards = [unit, unit], map_input_maps = [],
                        output_maps = [affine_map<(d0, d1) -> (d0 * 8 + d1)>],
                        then_input_maps = [affine_map<(d0, d1) -> (d0 * 8 + d1)>, affine_map<(d0, d1) -> (d1)>]}
            map {
            } then {
            ^bb0(%e: f32, %f: bf16):
              %wide = arith.extf %f : bf16 to f32
              %sum = arith.addf %e, %wide : f32
              %zero = arith.constant 0.0 : f32
              %relu = arith.maximumf %sum, %zero : f32
              %round = arith.truncf %relu : f32 to bf16
              plan.yield %round : bf16
            }
        plan.end
      }
    }
    ```
  }];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def Schedule : Pass<"schedule", "::gradus::GraphOp"> {
  let summary = "Orders the commands of a graph";
  let description = [{
    Chooses a total order that keeps few bytes alive and lets a state be updated
    where it lies: whatever reads the old value comes before the command that
    writes the new one. Of the order found and the order given the one with the
    smaller peak is kept.
  }];
}

def Recompute : Pass<"recompute", "::gradus::GraphOp"> {
  let summary = "Runs commands a second time instead of keeping what they made";
  let description = [{
    Cuts the commands of `@train` up to where most bytes are alive (the loss, or
    a little behind it) into `segments` of about as many bytes of results each,
    where few bytes cross. In the first `recomputed` of them, what the backward
    pass reads is made again from what crosses the cuts, right before it is
    first read (Chen et al., "Training Deep Nets with Sublinear Memory Cost",
    2016). The last segment never is: its gradients come at once. Stands behind
    `schedule`: the second run launches the same code, so every bit is the same.
    Codegen asks for it only under a memory limit.
  }];
  let options = [
    Option<"segments", "segments", "unsigned", /*default=*/"8", "Parts of the forward pass">,
    Option<"recomputed", "recomputed", "unsigned", /*default=*/"7",
           "How many of the first parts run again">,
  ];
}

#endif

// Passes on loop nests.

#ifndef GRADUS_CODEGEN_STAGE_FUSE_TD
#define GRADUS_CODEGEN_STAGE_FUSE_TD

include "mlir/Pass/PassBase.td"

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

#endif

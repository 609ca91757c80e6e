// Passes on loop nests.

#ifndef GRADUS_CODEGEN_STAGE_FUSE_TD
#define GRADUS_CODEGEN_STAGE_FUSE_TD

include "mlir/Pass/PassBase.td"

def Fuse : Pass<"fuse", "::gradus::ProgramOp"> {
  let summary = "Fuses nests, so that values stay in registers";
  let description = [{
    * Nests that only move elements are inlined: transposes, broadcasts,
      indices.
    * Elementwise nests are fused into the producer of their operands (bias,
      activation and residual after a contraction); results with other users
      stay, so that a nest may have several.
    * Elementwise nests are inlined into a reduction that is their only user;
      several users each repeat them only if they are cheap.
    * Nests over the same elements are merged.
    * A nest computes a few operations again on what it reads anyway, rather
      than reading their result: the mask of an activation.
    * Readers of an f32 result that is made of 16-bit numbers make it
      themselves, of what is stored of these: half the bytes, or less.
    * Equal nests are merged, unused nests erased.

    Updates of states are not fused with their gradients, so that one launch can
    run all of them. Long chains become several nests, each limited by
    `most-work` and `most-reads`.

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
           "Nests whose work for one point would exceed this together (in adds) are not fused">,
    Option<"mostReads", "most-reads", "int64_t", /*default=*/"64",
           "Nests that would read more tensors together are not fused">,
    Option<"workTwice", "work-twice", "int64_t", /*default=*/"0",
           "Work for one point up to which a nest is computed twice rather than stored, if it reads no more bytes than it would store; cheap nests always are">,
    Option<"workAgain", "work-again", "int64_t", /*default=*/"12",
           "Work for one point up to which a nest is computed again in nests that read its inputs anyway, once reductions are merged; 0: never, nor are results of 16-bit numbers">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def NarrowResults : Pass<"narrow-results", "::gradus::ProgramOp"> {
  let summary = "Stores 16-bit numbers before they are widened";
  let description = [{
    If a nest's result is widened 16-bit numbers, it stores the narrow ones, and
    the nests that use them widen them: the numbers are the same, with at most
    half the memory traffic. If the nest also has the narrow numbers as a
    result, the wide ones are dropped. Operands of contractions and library
    calls, outputs and states stay as they are.

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
  let summary = "Merges two reductions of the same elements";
  let description = [{
    Two nests that reduce the same elements of a tensor become one, even if the
    code after the second's sums uses results of the first, at the same point: a
    variance and its mean, the logarithm of a sum of exponentials and the score
    of a label.

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
  let summary = "Splits long sums over samples into parts for the threads";
  let description = [{
    A nest that reduces rows of large inputs to a small result (the gradient of
    a convolution's weights) becomes one nest that reduces at least 4 rows for
    each of several parts, and one that combines the parts. The split depends
    only on shapes and options: the result is the same for any number of
    threads. With `most-points` all parts together have at most that many
    points, and rows are split as well if there are too few of them.

    A sum by which its own elements are normalized, such as the statistics of
    channels, stays whole if its rows have at most `most-row-bytes`: the nest
    that reads it gets the same rows as its first dimension, so that a kernel
    can run both on one row after another.

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
           "The maximum number of parts of a sum">,
    Option<"leastWork", "least-work", "int64_t", /*default=*/"100000",
           "The work (in adds) from which on a second launch is worth it">,
    Option<"mostPoints", "most-points", "int64_t", /*default=*/"0",
           "The maximum points of all parts together, for which rows are split too; 0: no maximum, whole rows">,
    Option<"mostRowBytes", "most-row-bytes", "int64_t", /*default=*/"4194304",
           "The bytes of a row of a sum up to which nests that read the sum and its elements share its rows; 0: never">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def PadRows : Pass<"pad-rows", "::gradus::ProgramOp"> {
  let summary = "Aligns the rows of matrices in library calls";
  let description = [{
    If a tensor is read or written by a library's matmul, and otherwise only by
    nests, its rows are padded to a multiple of `alignment` bytes, by at most a
    32nd of a row. The padding is never read or written: nests keep their
    points, and matmuls their sizes. Without it, rows of 50257 16-bit numbers
    would have different alignments, and a matmul would have to load each number
    alone.

    Inputs, outputs and states keep their rows, and so do operands of nests that
    run through all elements regardless of rows.

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
           "The bytes of which the length of rows becomes a multiple">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

#endif

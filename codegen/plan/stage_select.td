// Passes on whole ops: library calls and their layouts.

#ifndef GRADUS_CODEGEN_STAGE_SELECT_TD
#define GRADUS_CODEGEN_STAGE_SELECT_TD

include "mlir/Pass/PassBase.td"

def LowerScans : Pass<"lower-scans", "::gradus::ProgramOp"> {
  let summary = "Makes a scan one kernel, or writes its steps out";
  let description = [{
    The body of a `gradus.scan` is lowered to nests and fused by itself. A
    kernel has them in a loop over the steps: it reads the slices of the step
    from whole sequences and writes results in their places. If each nest keeps
    to its own rows, those of a batch, an item is a few rows and goes through
    all steps without waiting for others: 4 to 8 if such a number divides the
    batch, else a larger divisor, and all of fewer than 8. Matrices from outside
    are packed to panels of columns before the kernel. What matmuls read rounded
    is stored so, once a step; with `pairs` they multiply pairs of bf16, without
    it, what these are in f32.

    A body that is more than nests, and each on a target without such loops
    (`loops=false`: GPUs), is written out once for each step.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @sums(%x: tensor<2x4xf32>, %start: tensor<4xf32>) -> (sums: tensor<2x4xf32>) {
        %last, %sums = gradus.scan 2 carry(%start : tensor<4xf32>) over(%x : tensor<2x4xf32>) body {
        ^bb0(%sum: tensor<4xf32>, %now: tensor<4xf32>):
          %next = arith.addf %sum, %now : tensor<4xf32>
          gradus.yield %next, %next : tensor<4xf32>, tensor<4xf32>
        } -> tensor<4xf32>, tensor<2x4xf32>
        gradus.return %sums : tensor<2x4xf32>
      }
    }
    ```

    After, without the nests of `@kernel0_scan`:

    ```mlir
    gradus.graph @sums(%x: tensor<2x4xf32>, %start: tensor<4xf32>) -> (sums: tensor<2x4xf32>) {
      %0:2 = plan.launch @kernel0_scan(%start, %x) items [1] grain 1 inplace [-1, -1] {label = "scan"}
          : (tensor<4xf32>, tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
      gradus.return %0#1 : tensor<2x4xf32>
    }
    ```
  }];
  let options = [
    Option<"loops", "loops", "bool", /*default=*/"true",
           "Whether the target runs the steps in one kernel">,
    Option<"pairs", "pairs", "bool", /*default=*/"true",
           "Whether matmuls in steps multiply pairs of bf16: the target has instructions for them">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def Select : Pass<"select", "::gradus::ProgramOp"> {
  let summary = "Gives large matmuls and convolutions to the vendor's library";
  let description = [{
    Matmuls and convolutions of `f32` and `bf16` become `plan.library` calls if
    the library (oneDNN on CPU) is faster than our own code: from 50 MFLOP on,
    with 32 channels or more. On GPUs (`provider=cuda`: cuBLASLt and cuDNN)
    those of `f16` do too, from 4 MFLOP on, and so does attention if the recipe
    computes in 16 bits, with or without a mask, unless that is learned. A bias
    and an activation become the call's epilogue if the values before them have
    no other use. On GPUs a matmul may also return the input of a gelu (tanh)
    after it, for the gradient, fuse gelu's gradient, and return the sum of an
    operand along the contracted dimension: next to the gradient of weights that
    is the gradient of their bias. Convolutions run in the layouts that the
    library prefers, with `reorder` calls around them.

    With `winograd`, convolutions and their gradients become `plan.winograd` where
    that is estimated to be faster (`codegen/plan/winograd_tiles.h`), on tiles of
    4x4 or 2x2 outputs: windows of 3x3, stride 1, channels in multiples of 16,
    from 70 MFLOP on, of f32, or of bf16 where the target has no `tiles`. The
    recipe's key `convolutions` may forbid it.

    With `blocks-of-8`, all convolutions of f32 in a graph work on blocks of 8
    channels instead of 16 where that is estimated to save a seventh of their
    time (`codegen/libraries/channel_blocks.cpp`): channels of 24 or 56 fill such
    blocks, as groups of 8 do.

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
           "Which calls: auto (by size), never, always">,
    Option<"narrow", "narrow", "bool", /*default=*/"true",
           "Whether bf16 calls too: the target has instructions for them">,
    Option<"provider", "provider", "std::string", /*default=*/"\"onednn\"",
           "The library: onednn, or cuda (NVIDIA's)">,
    Option<"epilogues", "epilogues", "std::string", /*default=*/"\"all\"",
           "Epilogues of calls: all that the library supports, bias alone, or none">,
    Option<"winograd", "winograd", "bool", /*default=*/"false",
           "Whether Winograd's algorithm may compute convolutions: the target has vectors of 16 lanes">,
    Option<"blocksOf8", "blocks-of-8", "bool", /*default=*/"false",
           "Whether convolutions may have blocks of 8 channels: the target's vectors of 8 lanes reach the rate of wider ones">,
    Option<"tiles", "tiles", "bool", /*default=*/"false",
           "Whether the library multiplies bf16 by tiles (AMX), too fast for Winograd's algorithm">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def PropagateLayouts : Pass<"propagate-layouts", "::gradus::ProgramOp"> {
  let summary = "Lets ops between library calls run on blocked channels";
  let description = [{
    The library's convolutions use activations as `[N, C/16, H, W, 16]`, on GPUs
    as `[N, 1, H, W, C]`. Elementwise ops between them run in that shape,
    broadcasts along channels produce it, and reductions that leave nothing
    after the channels read it. So do depthwise convolutions of our own, and what
    is between two transposes that undo each other, such as a layer norm of
    channels. Reorders that cancel each other and unused ops are erased. The
    library reorders weights, whose layouts differ from call to call.

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
           "The library: onednn, or cuda, which has no reorder, so that reorders become transposes">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def MergeRows : Pass<"merge-rows", "::gradus::ProgramOp"> {
  let summary = "Keeps the rows of matrices in one dimension between matmuls";
  let description = [{
    Ops on a view `[N, T, ...]` of a matrix `[N T, ...]` are rewritten to work
    on the matrix: elementwise ops, broadcasts, and reductions of single rows or
    over all of them. Rows are the items of kernels, so with rows in one
    dimension a layer norm, or a softmax with its loss, is one kernel; and what
    lies on both sides of a reshape is fused, such as the rounding of a
    matmul's operand.

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

#endif

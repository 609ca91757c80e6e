// Passes that form kernels.

#ifndef GRADUS_CODEGEN_STAGE_KERNELS_TD
#define GRADUS_CODEGEN_STAGE_KERNELS_TD

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"form-kernels", "::gradus::ProgramOp"> {
  let summary = "Turns nests into kernels and launches";
  let description = [{
    A tiny graph becomes one `serial` kernel with intermediate values in
    scratch. Otherwise small nests share serial kernels, nests over the same
    rows share kernels split by rows, and elementwise updates of states become
    `flat` kernels, one launch of which updates all states of the same
    structure. Equal kernels are stored once in the program. `inplace` of a
    launch tells which operand's memory a result may reuse.

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
           "A graph with less work than this (in adds) is one kernel">,
    Option<"smallWork", "small-work", "int64_t", /*default=*/"16000",
           "A nest with less work than this shares a serial kernel">,
    Option<"freedBytes", "freed-bytes", "int64_t", /*default=*/"16777216",
           "A launch that frees this many bytes, such as gradients, gets no more nests">,
    Option<"scratchBytes", "scratch-bytes", "int64_t", /*default=*/"131072",
           "The maximum scratch of a kernel">,
    Option<"blockWork", "block-work", "int64_t", /*default=*/"32768",
           "The work (in adds) of a block of items in kernels over rows">,
    Option<"blockBytes", "block-bytes", "int64_t", /*default=*/"16384",
           "The bytes that such a block reads and writes, if that gives fewer items">,
    Option<"mostBlocks", "most-blocks", "int64_t", /*default=*/"64",
           "The maximum number of blocks">,
    Option<"movedBytes", "moved-bytes", "int64_t", /*default=*/"65536",
           "The memory traffic (in bytes) of a block of items with little"
           " computation: elements of flat kernels, slices at indices">,
    Option<"leastRows", "least-rows", "int64_t", /*default=*/"1",
           "If there are fewer rows than this, and long ones, nests do not pass"
           " rows on in a kernel: each has its own, with all points at once">,
    Option<"mostNests", "most-nests", "int64_t", /*default=*/"1000000000",
           "The maximum number of nests in a kernel">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def UpdateInTiles : Pass<"update-in-tiles", "::gradus::ProgramOp"> {
  let summary = "Updates states in the tiles of the matmuls that make their gradients";
  let description = [{
    An elementwise nest that writes new values of states, and that alone reads
    the result of a matmul's kernel, runs in this kernel: behind the sums of
    each tile, which are in scratch. The gradient is never stored. The sums ask
    for the tile's part of the states, as inputs of `then` that it does not use.
    A gradient that anything else reads stays as it is, such as one whose norm
    clips all of them. The kernel has the mark `writes_once`, because an
    element that is written twice would be updated twice.

    Before:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<8x32xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<8x64xf32>, %y: tensor<64x32xf32>) {
        %w = gradus.read @w : tensor<8x32xf32>
        %0 = plan.launch @kernel0_matmul(%x, %y) items [1] grain 1 inplace [-1] {label = "matmul"} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
        %1 = plan.nest parallel [8, 32] reduced [] with(%w, %0 : tensor<8x32xf32>, tensor<8x32xf32>)
            attributes {combine = [], guards = [unit, unit], map_input_maps = [],
                        output_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                        then_input_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]}
            map {
            } then {
            ^bb0(%e: f32, %f: f32):
              %next = arith.subf %e, %f : f32
              plan.yield %next : f32
            } -> tensor<8x32xf32>
        gradus.write @w, %1 : tensor<8x32xf32>
        gradus.return
      }
      plan.kernel @kernel0_matmul(%x: memref<8x64xf32>, %y: memref<64x32xf32>, %z: memref<8x32xf32>) attributes {inputs = 2 : i64, items = 1 : i64, split = #plan<split rows>, writes_once} {
        plan.nest parallel [1, 8, 32] reduced [64] ins(%x, %y : memref<8x64xf32>, memref<64x32xf32>) outs(%z : memref<8x32xf32>)
            attributes {combine = [#gradus<reduction sum>], guards = [unit, unit],
                        map_input_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>],
                        output_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>], then_input_maps = []}
            map {
            ^bb0(%e: f32, %f: f32):
              %p = arith.mulf %e, %f : f32
              plan.yield %p : f32
            } then {
            ^bb0(%sum: f32):
              plan.yield %sum : f32
            }
        plan.end
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<8x32xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<8x64xf32>, %y: tensor<64x32xf32>) {
        %w = gradus.read @w : tensor<8x32xf32>
        %0 = plan.launch @kernel1_matmul_update(%x, %y, %w) items [1] grain 1 inplace [2] {flops = 256 : i64, label = "matmul+update"} : (tensor<8x64xf32>, tensor<64x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
        gradus.write @w, %0 : tensor<8x32xf32>
        gradus.return
      }
      plan.kernel @kernel1_matmul_update(%x: memref<8x64xf32>, %y: memref<64x32xf32>, %w: memref<8x32xf32>, %z: memref<8x32xf32>) attributes {inputs = 3 : i64, items = 1 : i64, split = #plan<split rows>, writes_once} {
        %0 = plan.scratch : memref<8x32xf32>
        plan.nest parallel [1, 8, 32] reduced [64] ins(%x, %y : memref<8x64xf32>, memref<64x32xf32>) with(%w : memref<8x32xf32>) outs(%0 : memref<8x32xf32>)
            attributes {combine = [#gradus<reduction sum>], guards = [unit, unit, unit],
                        map_input_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>],
                        output_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>], then_input_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>]}
            map {
            ^bb0(%e: f32, %f: f32):
              %p = arith.mulf %e, %f : f32
              plan.yield %p : f32
            } then {
            ^bb0(%sum: f32, %asked: f32):
              plan.yield %sum : f32
            }
        plan.nest parallel [1, 8, 32] reduced [] with(%w, %0 : memref<8x32xf32>, memref<8x32xf32>) outs(%z : memref<8x32xf32>)
            attributes {combine = [], guards = [unit, unit], map_input_maps = [],
                        output_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>],
                        then_input_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>]}
            map {
            } then {
            ^bb0(%e: f32, %f: f32):
              %next = arith.subf %e, %f : f32
              plan.yield %next : f32
            }
        plan.end
      }
    }
    ```
  }];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def KeepEpilogues : Pass<"keep-epilogues", "::gradus::ProgramOp"> {
  let summary = "Adds a kernel for the epilogue of a library's matmul";
  let description = [{
    Only when the artifact is loaded does a GPU's library tell whether it has an
    algorithm for a matmul with its bias and activation. In case it has none,
    each such call names a kernel that applies them to the f32 matmul: it reads
    the matmul, then the call's third operand, and writes the call's results,
    each rounded once. A matmul that also sums an operand needs no kernel. Equal
    kernels are stored once.

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

#endif

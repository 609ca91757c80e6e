// The passes that make kernels of some ops and loop nests of all others.

#ifndef GRADUS_CODEGEN_STAGE_NESTS_TD
#define GRADUS_CODEGEN_STAGE_NESTS_TD

include "mlir/Pass/PassBase.td"

def LowerToKernels : Pass<"lower-to-kernels", "::gradus::ProgramOp"> {
  let summary = "Launches kernels for ops that need loops of their own";
  let description = [{
    Some ops are kernels from the beginning: nests in loops over tiles, with
    scratch for what lies between them. All other ops stay.

    `gradus.attention` and `gradus.attention_backward` that no library computes
    become a launch each of a kernel over heads, whose scores are those of one
    tile at a time and never lie in memory. A head may be several items of the
    kernel; then a nest adds up what they found of the queries' gradients. Equal
    kernels are kept once, as the stream of dropout is an operand. Heads that are
    too large for a kernel stay, and `lower-to-nests` refuses them.

    With `pairs` matmuls in attention read queries, keys and values that are
    widened bf16 as they are, two numbers at a time, and round probabilities and
    gradients to bf16 before a matmul reads them; sums and the softmax are f32.

    With `matmuls` a library's matmul of bf16 becomes a launch of a kernel that
    packs the right matrix in panels of pairs and multiplies these in tiles. A
    left matrix that is transposed, as that of a gradient of weights, is packed
    before, by a launch of its own, as is the right one beside it. A large
    gradient of weights in f32 becomes such launches, too; it has no pairs.

    `gradus.gram` becomes a launch of a kernel over blocks and parts of the rows,
    which packs a tile of rows at a time, and a nest that sums the parts.
    `gradus.inverse` becomes a launch of a kernel over matrices.

    With `pooled` gradients of a convolution whose output a max pool reads become
    launches of kernels that visit the elements that won alone: the others'
    gradients are zeros. So they multiply a quarter of the numbers where windows
    are 2 x 2. Convolutions stay if they have groups, if the pool is padded, or if
    an estimate says that all elements take less time, as where there are very few
    channels.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @g(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x3x4xf32>) -> (y: tensor<1x2x2x4xf32>) {
        %y, %l:2 = gradus.attention %q, %k, %k {scale = 0.5 : f64}
            : (tensor<1x2x2x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>)
        gradus.return %y : tensor<1x2x2x4xf32>
      }
    }
    ```

    After, without the nests of `@kernel0_attention`, which multiply a tile of
    queries and keys, make probabilities of the scores and multiply those with
    the values:

    ```mlir
    gradus.graph @g(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x3x4xf32>) -> (y: tensor<1x2x2x4xf32>) {
      %0 = gradus.reshape %q : tensor<1x2x2x4xf32> -> tensor<2x2x4xf32>
      %1 = gradus.reshape %k : tensor<1x2x3x4xf32> -> tensor<2x3x4xf32>
      %2 = gradus.reshape %k : tensor<1x2x3x4xf32> -> tensor<2x3x4xf32>
      %3:3 = plan.launch @kernel0_attention(%0, %1, %2) items [2] grain 1 inplace [-1, -1, -1] {flops = 192 : i64, label = "attention"}
          : (tensor<2x2x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>
      %4 = gradus.reshape %3#0 : tensor<2x2x4xf32> -> tensor<1x2x2x4xf32>
      gradus.return %4 : tensor<1x2x2x4xf32>
    }
    ```
  }];
  let options = [
    Option<"pairs", "pairs", "bool", /*default=*/"true",
           "Whether attention multiplies pairs of bf16: the target has instructions for them">,
    Option<"matmuls", "matmuls", "bool", /*default=*/"false",
           "Whether large matmuls of bf16, and those of f32 with a transposed left matrix, are our kernels instead of library calls">,
    Option<"threads", "threads", "int64_t", /*default=*/"2",
           "For how many threads those matmuls are divided; no bit depends on it">,
    Option<"pooled", "pooled", "bool", /*default=*/"true",
           "Whether gradients of convolutions visit what a max pool chose alone: the target has kernels for it">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def LowerToNests : Pass<"lower-to-nests", "::gradus::ProgramOp"> {
  let summary = "Lowers every op of a graph to loop nests";
  let description = [{
    Each op becomes one `plan.nest` on tensors, sometimes a few: elementwise ops
    by their interface, matmul, convolutions (over padded copies, so that the
    contraction itself needs no guard), pooling, reductions and ops that move
    elements. Splat constants become scalars in the nests. `gradus.reshape`
    stays: it is another view of the same memory.

    Where the rows of a convolution's result would fill vectors of `lanes` badly
    and its channels fill them well, it reads weights with the output channels
    last, so that a vector may have several channels.

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
  let options = [
    Option<"lanes", "lanes", "int64_t", /*default=*/"0",
           "The numbers in a vector of the target; 0: it has none">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

#endif

// The pass that makes loop nests of ops.

#ifndef GRADUS_CODEGEN_STAGE_NESTS_TD
#define GRADUS_CODEGEN_STAGE_NESTS_TD

include "mlir/Pass/PassBase.td"

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

#endif

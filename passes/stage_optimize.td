// Passes that prepare the graph for codegen.

include "passes/pass_base.td"

def Decompose : GradusPass<"decompose"> {
  let summary = "Replaces composite ops by smaller ones, which then fuse";
  let description = [{
    Replaces every op of the interface `Decomposable` by simpler ops until none
    is left: losses, their gradients and metrics become reductions and
    elementwise ops that fuse with their neighbours. Ops that code generation
    handles better as a whole (`staysWhole`), such as large attention, stay.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @evaluate(%y: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
        %loss = gradus.mean_squared_error %y, %label : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @evaluate(%y: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
        %difference = arith.subf %y, %label : tensor<4xf32>
        %square = arith.mulf %difference, %difference : tensor<4xf32>
        %loss = gradus.reduce mean %square axes [0] : tensor<4xf32> -> tensor<f32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```
  }];
}

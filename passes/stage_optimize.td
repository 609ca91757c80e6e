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

def MaskPooled : GradusPass<"mask-pooled"> {
  let summary = "Masks and sums the gradient of a max pool before its elements get it";
  let description = [{
    A max pool's gradient goes to the elements that won, and such an element is
    the pool's result. So a mask that compares the pool's input with a number, as
    the gradient of a relu in front of it does, needs the result alone, which has a
    quarter of the elements where windows are 2 x 2: the gradient is masked first
    and then sent to the elements. The input need not be kept for it. A sum over
    all positions, the gradient of a bias, is that of the gradient before it is
    sent.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @g(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x2xf32>) -> (y: tensor<1x2x2xf32>, dx: tensor<1x2x4xf32>, db: tensor<2xf32>) {
        %zero = arith.constant dense<0.0> : tensor<1x2x4xf32>
        %y, %indices = gradus.max_pool %x window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x4xf32> -> tensor<1x2x2xf32>, tensor<1x2x2xi32>
        %sent = gradus.max_pool_backward %dy, %indices window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x2xf32>, tensor<1x2x2xi32> -> tensor<1x2x4xf32>
        %isPositive = arith.cmpf ogt, %x, %zero : tensor<1x2x4xf32>
        %dx = arith.select %isPositive, %sent, %zero : tensor<1x2x4xi1>, tensor<1x2x4xf32>
        %db = gradus.reduce sum %dx axes [0, 2] : tensor<1x2x4xf32> -> tensor<2xf32>
        gradus.return %y, %dx, %db : tensor<1x2x2xf32>, tensor<1x2x4xf32>, tensor<2xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @g(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x2xf32>) -> (y: tensor<1x2x2xf32>, dx: tensor<1x2x4xf32>, db: tensor<2xf32>) {
        %y, %indices = gradus.max_pool %x window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x4xf32> -> tensor<1x2x2xf32>, tensor<1x2x2xi32>
        %zero = arith.constant dense<0.0> : tensor<1x2x2xf32>
        %isPositive = arith.cmpf ogt, %y, %zero : tensor<1x2x2xf32>
        %masked = arith.select %isPositive, %dy, %zero : tensor<1x2x2xi1>, tensor<1x2x2xf32>
        %dx = gradus.max_pool_backward %masked, %indices window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x2xf32>, tensor<1x2x2xi32> -> tensor<1x2x4xf32>
        %db = gradus.reduce sum %masked axes [0, 2] : tensor<1x2x2xf32> -> tensor<2xf32>
        gradus.return %y, %dx, %db : tensor<1x2x2xf32>, tensor<1x2x4xf32>, tensor<2xf32>
      }
    }
    ```
  }];
}

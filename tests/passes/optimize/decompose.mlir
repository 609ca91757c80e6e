// RUN: gradus-opt %s --decompose | FileCheck %s
// RUN: gradus-opt %s --decompose --decompose | FileCheck %s

// CHECK-LABEL: gradus.program @square
// CHECK:         %[[DIFFERENCE:.*]] = arith.subf %y, %label
// CHECK-NEXT:    %[[SQUARE:.*]] = arith.mulf %[[DIFFERENCE]], %[[DIFFERENCE]]
// CHECK-NEXT:    %[[LOSS:.*]] = gradus.reduce mean %[[SQUARE]] axes [0]
// CHECK-NEXT:    gradus.return %[[LOSS]]
gradus.program @square {
  gradus.graph @evaluate(%y: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
    %loss = gradus.mean_squared_error %y, %label : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// No loss, gradient of a loss, or metric stays whole.
// CHECK-LABEL: gradus.program @classes
// CHECK-NOT:     gradus.softmax_cross_entropy
// CHECK-NOT:     gradus.accuracy
gradus.program @classes {
  gradus.graph @train(%y: tensor<2x3xf32>, %label: tensor<2xi64>, %one: tensor<f32>)
      -> (loss: tensor<f32>, accuracy: tensor<f32>, gradient: tensor<2x3xf32>) {
    %0 = gradus.softmax_cross_entropy %y, %label axis 1 : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>
    %1 = gradus.accuracy %y, %label axis 1 : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>
    %2 = gradus.softmax_cross_entropy_backward %one, %y, %label axis 1 : tensor<f32>, tensor<2x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
    gradus.return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<2x3xf32>
  }
}

// A step that moves its parameter by itself: the other model of basis.test.
// RUN: gradus-opt %s | FileCheck %s
// CHECK: gradus.program @halves
gradus.program @halves {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}
  gradus.graph @train(%x: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %moved = arith.mulf %x, %w : tensor<3xf32>
    gradus.write @w, %moved : tensor<3xf32>
    %loss = gradus.reduce sum %moved axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

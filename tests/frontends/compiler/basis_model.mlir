// A sum of squares: the model of basis.test.
// RUN: gradus-opt %s | FileCheck %s
// CHECK: gradus.program @squares
gradus.program @squares {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}
  gradus.graph @train(%coefficient: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %square = arith.mulf %w, %w : tensor<3xf32>
    %part = arith.mulf %coefficient, %square : tensor<3xf32>
    %loss = gradus.reduce sum %part axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Two parameters and a buffer: a model of basis.test.
// RUN: gradus-opt %s | FileCheck %s
// CHECK: gradus.program @frozen
gradus.program @frozen {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}
  gradus.state @v : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0]> : tensor<2xf32>}
  gradus.state @mean : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %v = gradus.read @v : tensor<2xf32>
    %mean = gradus.read @mean : tensor<2xf32>
    %square = arith.mulf %w, %w : tensor<3xf32>
    %part = arith.mulf %x, %square : tensor<3xf32>
    %one = gradus.reduce sum %part axes [0] : tensor<3xf32> -> tensor<f32>
    %away = arith.subf %v, %mean : tensor<2xf32>
    %distance = arith.mulf %away, %away : tensor<2xf32>
    %other = gradus.reduce sum %distance axes [0] : tensor<2xf32> -> tensor<f32>
    %loss = arith.addf %one, %other : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

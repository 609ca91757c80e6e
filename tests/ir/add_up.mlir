// RUN: gradus-opt %s --autodiff --canonicalize | FileCheck %s

gradus.program @p {
  gradus.state @w : tensor<2x6xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @r : tensor<3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}

  // Slices give one gradient of all parts, zeros where nobody looked; a weight
  // of four products gets one product of all rows.
  // CHECK-LABEL: gradus.graph @train
  // CHECK-DAG: %[[ROWS:.*]] = gradus.concatenate %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} axis 0 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32> -> tensor<8x3xf32>
  // CHECK: gradus.matmul %{{.*}} transposed, %{{.*}} : tensor<8x3xf32>, tensor<8x3xf32> -> tensor<3x3xf32>
  // CHECK: gradus.concatenate %{{.*}}, %{{.*}}, %{{.*}} axis 1 : tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x3xf32> -> tensor<2x6xf32>
  gradus.graph @train() -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<2x6xf32>
    %r = gradus.read @r : tensor<3x3xf32>
    %0 = gradus.slice %w starts [0, 3] steps [1, 1] : tensor<2x6xf32> -> tensor<2x3xf32>
    %1 = gradus.slice %w starts [0, 0] steps [1, 1] : tensor<2x6xf32> -> tensor<2x2xf32>
    %2 = gradus.pad %1 low [0, 1] high [0, 0] interior [0, 0] : tensor<2x2xf32> -> tensor<2x3xf32>
    %3 = arith.addf %0, %2 : tensor<2x3xf32>
    %4 = gradus.matmul %3, %r transposed : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    %5 = gradus.matmul %4, %r transposed : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    %6 = gradus.matmul %5, %r transposed : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    %7 = gradus.matmul %6, %r transposed : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    %8 = arith.mulf %7, %7 : tensor<2x3xf32>
    %loss = gradus.reduce sum %8 axes [0, 1] : tensor<2x3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// RUN: gradus-opt %s --lower-to-nests --fuse | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --fuse --fuse | FileCheck %s

gradus.program @p {
  // Bias and activation go behind the product; the transpose is read through.
  // CHECK-LABEL: gradus.graph @epilogue
  gradus.graph @epilogue(%x: tensor<8x4xf32>, %w: tensor<3x8xf32>, %b: tensor<3xf32>) -> (y: tensor<4x3xf32>) {
    // CHECK: plan.nest parallel [4, 3] reduced [8] ins(%x, %w : tensor<8x4xf32>, tensor<3x8xf32>) with(%b : tensor<3xf32>)
    // CHECK:   arith.mulf
    // CHECK: } then {
    // CHECK:   arith.addf
    // CHECK:   math.tanh
    // CHECK-NOT: plan.nest
    %0 = gradus.transpose %x perm [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
    %1 = gradus.matmul %0, %w transposed : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
    %2 = gradus.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %3 = arith.addf %1, %2 : tensor<4x3xf32>
    %4 = math.tanh %3 : tensor<4x3xf32>
    gradus.return %4 : tensor<4x3xf32>
  }

  // What others read stays: one nest with two results.
  // CHECK-LABEL: gradus.graph @two_results
  gradus.graph @two_results(%x: tensor<4xf32>) -> (y: tensor<4xf32>, z: tensor<4xf32>) {
    // CHECK: %[[N:.*]]:2 = plan.nest parallel [4]
    // CHECK-NOT: plan.nest
    // CHECK: gradus.return %[[N]]#0, %[[N]]#1
    %0 = math.exp %x : tensor<4xf32>
    %1 = arith.mulf %0, %0 : tensor<4xf32>
    gradus.return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }

  // Reductions over the same elements read them once.
  // CHECK-LABEL: gradus.graph @siblings
  gradus.graph @siblings(%x: tensor<4x8xf32>) -> (y: tensor<4xf32>, z: tensor<4xf32>) {
    // CHECK: plan.nest parallel [4] reduced [8]
    // CHECK-SAME: combine = [#gradus<reduction sum>, #gradus<reduction max>]
    // CHECK-NOT: plan.nest
    %0 = gradus.reduce sum %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    %1 = gradus.reduce max %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    gradus.return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }

  // A padded copy is no part of the convolution, whose reads need no guard.
  // CHECK-LABEL: gradus.graph @padded
  gradus.graph @padded(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x3x3xf32>) -> (y: tensor<1x3x4x4xf32>) {
    // CHECK: plan.nest parallel [2, 6, 6] reduced []
    // CHECK: plan.nest parallel [3, 4, 4] reduced [2, 3, 3]
    // CHECK-SAME: guards = [unit, unit]
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32> -> tensor<1x3x4x4xf32>
    gradus.return %0 : tensor<1x3x4x4xf32>
  }
}

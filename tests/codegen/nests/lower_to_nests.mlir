// RUN: gradus-opt %s --lower-to-nests | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --lower-to-nests | FileCheck %s

// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
gradus.program @p {
  // A broadcast becomes a map, a splat constant a scalar of the nest.
  // CHECK-LABEL: gradus.graph @dense
  gradus.graph @dense(%x: tensor<4x8xf32>, %w: tensor<3x8xf32>, %b: tensor<3xf32>) -> (y: tensor<4x3xf32>) {
    // CHECK: plan.nest parallel [4, 3] reduced [8] ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<3x8xf32>)
    // CHECK-SAME: map_input_maps = [#[[A]], #[[B]]], output_maps = [#[[ALL]]]
    // CHECK:   arith.mulf
    %0 = gradus.matmul %x, %w transposed : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
    // CHECK: plan.nest parallel [4, 3] reduced [] with(%{{.*}} : tensor<3xf32>)
    // CHECK-SAME: then_input_maps = [#[[LAST]]]
    %1 = gradus.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %2 = arith.addf %0, %1 : tensor<4x3xf32>
    // CHECK: plan.nest parallel [4, 3] reduced [] with(%{{[0-9]+}} : tensor<4x3xf32>)
    // CHECK: ^bb0(%[[E:.*]]: f32):
    // CHECK:   %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
    // CHECK:   arith.mulf %[[E]], %[[TWO]] : f32
    %two = arith.constant dense<2.0> : tensor<4x3xf32>
    %3 = arith.mulf %2, %two : tensor<4x3xf32>
    gradus.return %3 : tensor<4x3xf32>
  }

  // The contraction reads a padded copy and needs no guard.
  // CHECK-LABEL: gradus.graph @convolution
  gradus.graph @convolution(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (y: tensor<2x4x8x8xf32>) {
    // CHECK: %[[PADDED:.*]] = plan.nest parallel [2, 3, 10, 10]
    // CHECK-SAME: guards = [#set
    // CHECK: plan.nest parallel [2, 4, 8, 8] reduced [3, 3, 3] ins(%[[PADDED]], %{{.*}} : tensor<2x3x10x10xf32>
    // CHECK-SAME: guards = [unit, unit]
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<2x4x8x8xf32>
    gradus.return %0 : tensor<2x4x8x8xf32>
  }
}

// RUN: gradus-opt %s --lower-to-kernels | FileCheck %s

// No nest has a guard: corners, edges and what is inside are nests of their own.
// Two items have four and three rows of the seven rows of tiles of an image.
// CHECK-LABEL: gradus.graph @by_tiles
// CHECK:         %[[U:.*]] = plan.launch @[[WEIGHTS:.*]](%w) items [2] grain 1 {{.*}} label = "winograd_weights"} : (tensor<64x64x3x3xf32>) -> tensor<2x36x2064xf32>
// CHECK:         plan.launch @[[TILES:.*]](%x, %[[U]], %b) items [16] grain 1 {{.*}} label = "winograd+bias+relu"}
gradus.program @p {
  gradus.graph @by_tiles(%x: tensor<8x4x28x28x16xf32>, %w: tensor<64x64x3x3xf32>, %b: tensor<64xf32>) -> (y: tensor<8x4x28x28x16xf32>) {
    %y = plan.winograd forward %x, %w bias %b pads [1, 1] {activation = "relu"} : tensor<8x4x28x28x16xf32>, tensor<64x64x3x3xf32>, tensor<64xf32> -> tensor<8x4x28x28x16xf32>
    gradus.return %y : tensor<8x4x28x28x16xf32>
  }

  // Few tiles are transformed once, for items that have 32 outputs each.
  // CHECK-LABEL: gradus.graph @by_outputs
  // CHECK:         %[[V:.*]] = plan.launch @[[SOURCE:.*]](%dy) items [32] grain 1 {{.*}} label = "winograd_tiles"}
  // CHECK:         plan.launch @[[OUTPUTS:.*]](%[[V]], %w) items [16] grain 1 {{.*}} label = "winograd_backward_data"}
  gradus.graph @by_outputs(%dy: tensor<32x32x4x4x16xf32>, %w: tensor<512x512x3x3xf32>) -> (dx: tensor<32x32x4x4x16xf32>) {
    %dx = plan.winograd input_gradient %dy, %w pads [1, 1] : tensor<32x32x4x4x16xf32>, tensor<512x512x3x3xf32> -> tensor<32x32x4x4x16xf32>
    gradus.return %dx : tensor<32x32x4x4x16xf32>
  }

  // CHECK-NOT: affine_set
}

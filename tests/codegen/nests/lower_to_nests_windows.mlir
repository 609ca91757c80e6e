// RUN: gradus-opt %s --lower-to-nests=lanes=16 --fuse | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --fuse | FileCheck %s --check-prefix=PLAIN

// Rows of 10 leave 6 of 16 lanes without a number, 16 channels none: the kernel
// reads a copy of the weights with these last, which fusion leaves alone.
// CHECK-LABEL: gradus.graph @narrow
// CHECK:         %[[W:.*]] = plan.nest parallel [6, 5, 5, 16] reduced [] with(%w : {{.*}}guards = [unit], kept, label = "copy"
// CHECK:         plan.nest parallel [32, 16, 10, 10] reduced [6, 5, 5] ins(%x, %[[W]] : tensor<32x6x14x14xf32>, tensor<6x5x5x16xf32>)
// PLAIN-LABEL: gradus.graph @narrow
// PLAIN:         ins(%x, %w : tensor<32x6x14x14xf32>, tensor<16x6x5x5xf32>)
gradus.program @p {
  gradus.graph @narrow(%x: tensor<32x6x14x14xf32>, %w: tensor<16x6x5x5xf32>) -> (y: tensor<32x16x10x10xf32>) {
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<32x6x14x14xf32>, tensor<16x6x5x5xf32> -> tensor<32x16x10x10xf32>
    gradus.return %y : tensor<32x16x10x10xf32>
  }

  // So does what moves the weights before: the copy reads them in their order.
  // CHECK-LABEL: gradus.graph @moved
  // CHECK:         %[[W:.*]] = plan.nest parallel [6, 5, 5, 16] reduced [] with(%w : {{.*}}kept
  // CHECK:         plan.nest parallel [32, 16, 10, 10] reduced [6, 5, 5] ins(%x, %[[W]] :
  gradus.graph @moved(%x: tensor<32x6x14x14xf32>, %w: tensor<6x16x5x5xf32>) -> (y: tensor<32x16x10x10xf32>) {
    %t = gradus.transpose %w perm [1, 0, 2, 3] : tensor<6x16x5x5xf32> -> tensor<16x6x5x5xf32>
    %y = gradus.convolution %x, %t strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<32x6x14x14xf32>, tensor<16x6x5x5xf32> -> tensor<32x16x10x10xf32>
    gradus.return %y : tensor<32x16x10x10xf32>
  }

  // Rows of 28 fill vectors better than 6 channels do.
  // CHECK-LABEL: gradus.graph @wide
  // CHECK:         ins(%x, %w : tensor<32x1x32x32xf32>, tensor<6x1x5x5xf32>)
  gradus.graph @wide(%x: tensor<32x1x32x32xf32>, %w: tensor<6x1x5x5xf32>) -> (y: tensor<32x6x28x28xf32>) {
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<32x1x32x32xf32>, tensor<6x1x5x5xf32> -> tensor<32x6x28x28xf32>
    gradus.return %y : tensor<32x6x28x28xf32>
  }

  // One sample has too few positions for a copy.
  // CHECK-LABEL: gradus.graph @one
  // CHECK:         ins(%x, %w : tensor<1x6x14x14xf32>, tensor<16x6x5x5xf32>)
  gradus.graph @one(%x: tensor<1x6x14x14xf32>, %w: tensor<16x6x5x5xf32>) -> (y: tensor<1x16x10x10xf32>) {
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x6x14x14xf32>, tensor<16x6x5x5xf32> -> tensor<1x16x10x10xf32>
    gradus.return %y : tensor<1x16x10x10xf32>
  }
}

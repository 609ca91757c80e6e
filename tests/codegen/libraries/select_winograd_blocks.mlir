// REQUIRES: onednn
// RUN: gradus-opt %s "--select=winograd=true blocks-of-8=true" --propagate-layouts | FileCheck %s
// RUN: gradus-opt %s "--select=winograd=true blocks-of-8=true" --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// WHY: [Missed] NotSelected {{.*}}is not by Winograd's algorithm{{.*}}the graph has blocks of 8 channels
gradus.program @p {
  // What groups of 8 save with blocks of 8 is more than the algorithm would save,
  // so all convolutions of the graph have these.
  // CHECK-LABEL: gradus.graph @groups
  // CHECK-NOT:     plan.winograd
  // CHECK:         plan.library "convolution"{{.*}} -> tensor<8x8x28x28x8xf32>
  // CHECK-NOT:     plan.library "reorder"({{.*}}: tensor<8x8x28x28x8xf32>
  // CHECK:         plan.library "convolution"{{.*}} -> tensor<8x8x28x28x8xf32>
  // CHECK:         gradus.return
  gradus.graph @groups(%x: tensor<8x64x28x28xf32>, %v: tensor<64x8x11x11xf32>, %w: tensor<64x64x3x3xf32>) -> (y: tensor<8x64x28x28xf32>) {
    %0 = gradus.convolution %x, %v strides [1, 1] pads [5, 5] to [5, 5] dilations [1, 1] groups 8 : tensor<8x64x28x28xf32>, tensor<64x8x11x11xf32> -> tensor<8x64x28x28xf32>
    %1 = gradus.convolution %0, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<64x64x3x3xf32> -> tensor<8x64x28x28xf32>
    gradus.return %1 : tensor<8x64x28x28xf32>
  }

  // Another graph of the program has no groups.
  // CHECK-LABEL: gradus.graph @plain
  // CHECK:         plan.winograd forward
  // CHECK:         gradus.return
  gradus.graph @plain(%x: tensor<8x64x28x28xf32>, %w: tensor<64x64x3x3xf32>) -> (y: tensor<8x64x28x28xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<64x64x3x3xf32> -> tensor<8x64x28x28xf32>
    gradus.return %0 : tensor<8x64x28x28xf32>
  }
}

// Gradients of weights by Winograd's algorithm: of blocked images, to plain
// weights.
// RUN: gradus-opt %s --select=winograd=true --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gradus-opt %s --select=winograd=true | FileCheck %s
// RUN: gradus-opt %s --select | FileCheck %s --check-prefix=WITHOUT

// REMARK: [Passed] Selected {{.*}}convolution, weight_gradient, by Winograd's algorithm
// WITHOUT-NOT: plan.winograd
gradus.program @p {
  // CHECK-LABEL: gradus.graph @large
  // CHECK: plan.winograd weight_gradient %{{.*}}, %{{.*}} pads [1, 1] : tensor<8x4x28x28x16xf32>, tensor<8x8x28x28x16xf32> -> tensor<128x64x3x3xf32>
  gradus.graph @large(%x: tensor<8x64x28x28xf32>, %dy: tensor<8x128x28x28xf32>) -> (dw: tensor<128x64x3x3xf32>) {
    %dw = gradus.convolution_backward_weights %x, %dy strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
        : tensor<8x64x28x28xf32>, tensor<8x128x28x28xf32> -> tensor<128x64x3x3xf32>
    gradus.return %dw : tensor<128x64x3x3xf32>
  }

  // Sums of few positions would round more than the rule allows; strides and
  // windows of 1 have no such algorithm.
  // CHECK-LABEL: gradus.graph @others
  // CHECK-NOT: plan.winograd
  gradus.graph @others(%x: tensor<1x256x11x11xf32>, %dy: tensor<1x256x11x11xf32>, %u: tensor<8x64x28x28xf32>, %dv: tensor<8x128x14x14xf32>,
                       %dz: tensor<8x128x28x28xf32>)
      -> (few: tensor<256x256x3x3xf32>, strided: tensor<128x64x3x3xf32>, narrow: tensor<128x64x1x1xf32>) {
    %few = gradus.convolution_backward_weights %x, %dy strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
        : tensor<1x256x11x11xf32>, tensor<1x256x11x11xf32> -> tensor<256x256x3x3xf32>
    %strided = gradus.convolution_backward_weights %u, %dv strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]
        : tensor<8x64x28x28xf32>, tensor<8x128x14x14xf32> -> tensor<128x64x3x3xf32>
    %narrow = gradus.convolution_backward_weights %u, %dz strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1]
        : tensor<8x64x28x28xf32>, tensor<8x128x28x28xf32> -> tensor<128x64x1x1xf32>
    gradus.return %few, %strided, %narrow : tensor<256x256x3x3xf32>, tensor<128x64x3x3xf32>, tensor<128x64x1x1xf32>
  }
}


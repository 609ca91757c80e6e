// A recipe may do without Winograd's algorithm.
// RUN: gradus-opt %s --select=winograd=true | FileCheck %s

// CHECK-NOT: plan.winograd
gradus.program @p attributes {recipe = {convolutions = "direct"}} {
  gradus.graph @large(%x: tensor<8x64x28x28xf32>, %dy: tensor<8x128x28x28xf32>, %w: tensor<128x64x3x3xf32>)
      -> (dw: tensor<128x64x3x3xf32>, y: tensor<8x128x28x28xf32>, dx: tensor<8x64x28x28xf32>) {
    %dw = gradus.convolution_backward_weights %x, %dy strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
        : tensor<8x64x28x28xf32>, tensor<8x128x28x28xf32> -> tensor<128x64x3x3xf32>
    %y = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
        : tensor<8x64x28x28xf32>, tensor<128x64x3x3xf32> -> tensor<8x128x28x28xf32>
    %dx = gradus.convolution_backward_data %dy, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
        : tensor<8x128x28x28xf32>, tensor<128x64x3x3xf32> -> tensor<8x64x28x28xf32>
    gradus.return %dw, %y, %dx : tensor<128x64x3x3xf32>, tensor<8x128x28x28xf32>, tensor<8x64x28x28xf32>
  }
}

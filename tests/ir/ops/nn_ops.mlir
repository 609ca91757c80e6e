// RUN: gradus-opt %s | FileCheck %s
// RUN: gradus-opt %s | gradus-opt | FileCheck %s

gradus.program @forms {
  // CHECK-LABEL: @convolution(
  // CHECK-NEXT: gradus.convolution %x, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf32>, tensor<6x2x3x2xf32> -> tensor<2x6x3x5xf32>
  // CHECK-NEXT: gradus.convolution_backward_data %{{.*}}, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x6x3x5xf32>, tensor<6x2x3x2xf32> -> tensor<2x4x5x6xf32>
  // CHECK-NEXT: gradus.convolution_backward_weights %x, %{{.*}} strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf32>, tensor<2x6x3x5xf32> -> tensor<6x2x3x2xf32>
  gradus.graph @convolution(%x: tensor<2x4x5x6xf32>, %w: tensor<6x2x3x2xf32>) {
    %y = gradus.convolution %x, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf32>, tensor<6x2x3x2xf32> -> tensor<2x6x3x5xf32>
    %dx = gradus.convolution_backward_data %y, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x6x3x5xf32>, tensor<6x2x3x2xf32> -> tensor<2x4x5x6xf32>
    %dw = gradus.convolution_backward_weights %x, %y strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf32>, tensor<2x6x3x5xf32> -> tensor<6x2x3x2xf32>
    gradus.return
  }

  // One group goes without saying.
  // CHECK-LABEL: @one_group(
  // CHECK-NEXT: gradus.convolution %x, %w strides [1] pads [0] to [0] dilations [1] : tensor<1x1x3xf32>
  gradus.graph @one_group(%x: tensor<1x1x3xf32>, %w: tensor<1x1x2xf32>) {
    %y = gradus.convolution %x, %w strides [1] pads [0] to [0] dilations [1] groups 1 : tensor<1x1x3xf32>, tensor<1x1x2xf32> -> tensor<1x1x2xf32>
    gradus.return
  }

  // CHECK-LABEL: @pools(
  // CHECK-NEXT: %result, %indices = gradus.max_pool %x window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xi32>
  // CHECK-NEXT: gradus.max_pool_backward %result, %indices window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x1x2x2xf32>, tensor<1x1x2x2xi32> -> tensor<1x1x4x4xf32>
  // CHECK-NEXT: gradus.average_pool %x window [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] count_include_pad : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  // CHECK-NEXT: gradus.average_pool_backward %{{.*}} window [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  gradus.graph @pools(%x: tensor<1x1x4x4xf32>) {
    %y, %i = gradus.max_pool %x window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xi32>
    %dx = gradus.max_pool_backward %y, %i window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x1x2x2xf32>, tensor<1x1x2x2xi32> -> tensor<1x1x4x4xf32>
    %a = gradus.average_pool %x window [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] count_include_pad : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
    %da = gradus.average_pool_backward %a window [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
    gradus.return
  }

  // CHECK-LABEL: @losses(
  // CHECK-NEXT: gradus.softmax_cross_entropy %x, %l axis 1 {label_smoothing = 1.000000e-01 : f64} : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>
  // CHECK-NEXT: gradus.softmax_cross_entropy_backward %{{.*}}, %x, %l axis 1 {ignore_index = 3 : i64} : tensor<f32>, tensor<4x10xf32>, tensor<4xi64> -> tensor<4x10xf32>
  // CHECK-NEXT: gradus.mean_squared_error %x, %x : tensor<4x10xf32>, tensor<4x10xf32> -> tensor<f32>
  // CHECK-NEXT: gradus.accuracy %x, %l axis 1 : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>
  gradus.graph @losses(%x: tensor<4x10xf32>, %l: tensor<4xi64>) {
    %y = gradus.softmax_cross_entropy %x, %l axis 1 {label_smoothing = 0.1 : f64} : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>
    %dx = gradus.softmax_cross_entropy_backward %y, %x, %l axis 1 {ignore_index = 3 : i64} : tensor<f32>, tensor<4x10xf32>, tensor<4xi64> -> tensor<4x10xf32>
    %e = gradus.mean_squared_error %x, %x : tensor<4x10xf32>, tensor<4x10xf32> -> tensor<f32>
    %a = gradus.accuracy %x, %l axis 1 : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>
    gradus.return
  }
}

// RUN: gradus-opt %s --propagate-layouts | FileCheck %s
// RUN: gradus-opt %s --propagate-layouts --propagate-layouts | FileCheck %s

// Between tensors in blocks a depthwise convolution works on blocks, too: only
// its weights are reordered.
// CHECK-LABEL: gradus.graph @predict
// CHECK:         %[[P:.*]] = gradus.pad %x low [0, 0, 1, 1, 0] high [0, 0, 1, 1, 0]
// CHECK:         %[[W:.*]] = plan.library "reorder"(%w)
// CHECK-SAME:      -> tensor<2x1x3x3x16xbf16>
// CHECK:         %[[Y:.*]] = plan.nest parallel [2, 2, 6, 6, 16] reduced [3, 3]
// CHECK-SAME:      ins(%[[P]], %[[W]] :
// CHECK-NOT:     "reorder"
// CHECK:         gradus.return %[[Y]]
gradus.program @depthwise {
  gradus.graph @predict(%x: tensor<2x2x6x6x16xbf16>, %w: tensor<32x1x3x3xbf16>) -> (y: tensor<2x2x6x6x16xbf16>) {
    %0 = plan.library "reorder"(%x) config {} layouts [{blocks}, {plain} ] {label = "reorder"} : (tensor<2x2x6x6x16xbf16>) -> tensor<2x32x6x6xbf16>
    %1 = gradus.convolution %0, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 32 : tensor<2x32x6x6xbf16>, tensor<32x1x3x3xbf16> -> tensor<2x32x6x6xbf16>
    %2 = plan.library "reorder"(%1) config {} layouts [{dims = array<i64: 2, 32, 6, 6>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 2, 32, 6, 6>, strides = array<i64: 1152, 36, 6, 1>}, {dims = array<i64: 2, 32, 6, 6>, inner_axes = array<i64: 1>, inner_blocks = array<i64: 16>, padded_dims = array<i64: 2, 32, 6, 6>, strides = array<i64: 1152, 576, 96, 16>}] {label = "reorder"} : (tensor<2x32x6x6xbf16>) -> tensor<2x2x6x6x16xbf16>
    gradus.return %2 : tensor<2x2x6x6x16xbf16>
  }

  // The gradient of the weights, of two tensors in blocks, is plain.
  // CHECK-LABEL: gradus.graph @weights
  // CHECK-NOT:     "reorder"
  // CHECK:         %[[D:.*]] = plan.nest parallel [2, 3, 3, 16] reduced [2, 6, 6]
  // CHECK:         gradus.return %[[D]] : tensor<32x1x3x3xf32>
  gradus.graph @weights(%x: tensor<2x2x6x6x16xbf16>, %g: tensor<2x2x6x6x16xbf16>) -> (w: tensor<32x1x3x3xf32>) {
    %0 = plan.library "reorder"(%x) config {} layouts [{blocks}, {plain} ] {label = "reorder"} : (tensor<2x2x6x6x16xbf16>) -> tensor<2x32x6x6xbf16>
    %1 = plan.library "reorder"(%g) config {} layouts [{blocks}, {plain} ] {label = "reorder"} : (tensor<2x2x6x6x16xbf16>) -> tensor<2x32x6x6xbf16>
    %2 = gradus.convolution_backward_weights %0, %1 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 32 : tensor<2x32x6x6xbf16>, tensor<2x32x6x6xbf16> -> tensor<32x1x3x3xf32>
    gradus.return %2 : tensor<32x1x3x3xf32>
  }

  // Behind a plain input, the gradient of the result is what is reordered: it
  // may have fewer elements than that of the input.
  // CHECK-LABEL: gradus.graph @border
  // CHECK:         gradus.convolution_backward_weights
  // CHECK:         gradus.convolution_backward_data
  gradus.graph @border(%x: tensor<2x32x12x12xbf16>, %g: tensor<2x2x6x6x16xbf16>, %w: tensor<32x1x3x3xbf16>) -> (w: tensor<32x1x3x3xf32>, dx: tensor<2x32x12x12xf32>) {
    %0 = plan.library "reorder"(%g) config {} layouts [{blocks}, {plain} ] {label = "reorder"} : (tensor<2x2x6x6x16xbf16>) -> tensor<2x32x6x6xbf16>
    %1 = gradus.convolution_backward_weights %x, %0 strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] groups 32 : tensor<2x32x12x12xbf16>, tensor<2x32x6x6xbf16> -> tensor<32x1x3x3xf32>
    %2 = gradus.convolution_backward_data %0, %w strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] groups 32 : tensor<2x32x6x6xbf16>, tensor<32x1x3x3xbf16> -> tensor<2x32x12x12xf32>
    gradus.return %1, %2 : tensor<32x1x3x3xf32>, tensor<2x32x12x12xf32>
  }

  // A gate of channels that is widened is made of blocks again.
  // CHECK-LABEL: gradus.graph @gate
  // CHECK:         gradus.broadcast %{{.*}} -> tensor<2x2x6x6x16xbf16>
  // CHECK-NOT:     "reorder"
  // CHECK:         gradus.return
  gradus.graph @gate(%x: tensor<2x2x6x6x16xf32>, %c: tensor<32xbf16>) -> (s: tensor<32xf32>) {
    %0 = plan.library "reorder"(%x) config {} layouts [{blocks}, {plain} ] {label = "reorder"} : (tensor<2x2x6x6x16xf32>) -> tensor<2x32x6x6xf32>
    %1 = gradus.broadcast %c dims [1] : tensor<32xbf16> -> tensor<2x32x6x6xbf16>
    %2 = arith.extf %1 : tensor<2x32x6x6xbf16> to tensor<2x32x6x6xf32>
    %3 = arith.mulf %0, %2 : tensor<2x32x6x6xf32>
    %4 = gradus.reduce sum %3 axes [0, 2, 3] : tensor<2x32x6x6xf32> -> tensor<32xf32>
    gradus.return %4 : tensor<32xf32>
  }
}

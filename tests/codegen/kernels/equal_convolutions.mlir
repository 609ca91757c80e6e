// RUN: gradus-opt %s --select=winograd=true --lower-to-kernels | FileCheck %s
// Equal convolutions have one kernel and copies of what calls it, each with its
// own operands. Of one in which an operand stands twice there are none.

// CHECK-LABEL: gradus.program @weights
// CHECK:       %[[X:.*]] = plan.library "reorder"(%x)
// CHECK-NEXT:  %[[X2:.*]] = plan.library "reorder"(%x)
// CHECK-NEXT:  plan.launch @[[KERNEL:kernel[0-9]+_winograd_backward_weights]](%[[X]], %[[X2]])
// CHECK:       %[[Y:.*]] = plan.library "reorder"(%y)
// CHECK-NEXT:  %[[Z:.*]] = plan.library "reorder"(%z)
// CHECK-NEXT:  plan.launch @[[KERNEL]](%[[Y]], %[[Z]])
// CHECK:       %[[Z2:.*]] = plan.library "reorder"(%z)
// CHECK-NEXT:  %[[Y2:.*]] = plan.library "reorder"(%y)
// CHECK-NEXT:  plan.launch @[[KERNEL]](%[[Z2]], %[[Y2]])
gradus.program @weights {
  gradus.graph @g(%x: tensor<8x64x28x28xf32>, %y: tensor<8x64x28x28xf32>, %z: tensor<8x64x28x28xf32>) -> (a: tensor<64x64x3x3xf32>, b: tensor<64x64x3x3xf32>, c: tensor<64x64x3x3xf32>) {
    %0 = gradus.convolution_backward_weights %x, %x strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<8x64x28x28xf32> -> tensor<64x64x3x3xf32>
    %1 = gradus.convolution_backward_weights %y, %z strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<8x64x28x28xf32> -> tensor<64x64x3x3xf32>
    %2 = gradus.convolution_backward_weights %z, %y strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<8x64x28x28xf32> -> tensor<64x64x3x3xf32>
    gradus.return %0, %1, %2 : tensor<64x64x3x3xf32>, tensor<64x64x3x3xf32>, tensor<64x64x3x3xf32>
  }
}

// Attention reads what its operands were reshaped from.
// CHECK-LABEL: gradus.program @attention
// CHECK:       %[[Q:.*]] = gradus.reshape %x : tensor<2x4x128xf32> -> tensor<8x8x16xf32>
// CHECK-NEXT:  %[[K:.*]] = gradus.reshape %a : tensor<2x4x128xf32> -> tensor<8x8x16xf32>
// CHECK-NEXT:  %[[V:.*]] = gradus.reshape %b : tensor<2x4x128xf32> -> tensor<8x8x16xf32>
// CHECK-NEXT:  plan.launch @[[FIRST:kernel[0-9]+_attention]](%[[Q]], %[[K]], %[[V]])
// CHECK:       %[[Q2:.*]] = gradus.reshape %b : tensor<2x4x128xf32> -> tensor<8x8x16xf32>
// CHECK-NEXT:  %[[K2:.*]] = gradus.reshape %x : tensor<2x4x128xf32> -> tensor<8x8x16xf32>
// CHECK-NEXT:  %[[V2:.*]] = gradus.reshape %a : tensor<2x4x128xf32> -> tensor<8x8x16xf32>
// CHECK-NEXT:  plan.launch @[[FIRST]](%[[Q2]], %[[K2]], %[[V2]])
gradus.program @attention {
  gradus.graph @predict(%x: tensor<2x4x128xf32>, %a: tensor<2x4x128xf32>, %b: tensor<2x4x128xf32>) -> (y: tensor<2x4x8x16xf32>, z: tensor<2x4x8x16xf32>) {
    %q = gradus.reshape %x : tensor<2x4x128xf32> -> tensor<2x4x8x16xf32>
    %k = gradus.reshape %a : tensor<2x4x128xf32> -> tensor<2x4x8x16xf32>
    %v = gradus.reshape %b : tensor<2x4x128xf32> -> tensor<2x4x8x16xf32>
    %0, %1:2 = gradus.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    %2, %3:2 = gradus.attention %v, %q, %k {scale = 0.25 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    gradus.return %0, %2 : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
  }
}

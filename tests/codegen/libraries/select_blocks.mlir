// REQUIRES: onednn
// RUN: gradus-opt %s --select=blocks-of-8=true --propagate-layouts | FileCheck %s
// RUN: gradus-opt %s --select --propagate-layouts | FileCheck %s --check-prefix=OWN

// Groups of 8 channels are the library's with blocks of 8, in which what is
// between is computed, too; without them they are our own.
// CHECK-LABEL: gradus.program @groups_of_8
// CHECK:         plan.library "convolution"{{.*}} -> tensor<8x7x56x56x8xf32>
// CHECK:         arith.mulf {{.*}} : tensor<8x7x56x56x8xf32>
// CHECK:         plan.library "convolution"{{.*}} : (tensor<8x7x56x56x8xf32>, {{.*}} -> tensor<8x7x28x28x8xf32>
// CHECK:         gradus.return
// OWN-LABEL:   gradus.program @groups_of_8
// OWN:           arith.mulf {{.*}} : tensor<8x56x56x56xf32>
// OWN:           gradus.convolution {{.*}} groups 7
gradus.program @groups_of_8 {
  gradus.graph @predict(%x: tensor<8x56x56x56xf32>, %w: tensor<56x56x1x1xf32>, %v: tensor<56x8x3x3xf32>)
      -> (y: tensor<8x56x28x28xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1]
        : tensor<8x56x56x56xf32>, tensor<56x56x1x1xf32> -> tensor<8x56x56x56xf32>
    %1 = arith.mulf %0, %0 : tensor<8x56x56x56xf32>
    %2 = gradus.convolution %1, %v strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] groups 7
        : tensor<8x56x56x56xf32>, tensor<56x8x3x3xf32> -> tensor<8x56x28x28xf32>
    gradus.return %2 : tensor<8x56x28x28xf32>
  }
}

// Groups of 16 are the library's with its own blocks, and narrower ones ours.
// CHECK-LABEL: gradus.program @other_groups
// CHECK-NOT:     x8xf32>
// CHECK:         plan.library "convolution"
// CHECK-NOT:     plan.library "convolution"
// CHECK:         gradus.convolution {{.*}} groups 16
// OWN-LABEL:   gradus.program @other_groups
// OWN:           plan.library "convolution"
// OWN:           gradus.convolution {{.*}} groups 16
gradus.program @other_groups {
  gradus.graph @predict(%x: tensor<8x64x28x28xf32>, %w: tensor<64x16x3x3xf32>, %v: tensor<64x4x3x3xf32>)
      -> (y: tensor<8x64x28x28xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 4
        : tensor<8x64x28x28xf32>, tensor<64x16x3x3xf32> -> tensor<8x64x28x28xf32>
    %1 = gradus.convolution %0, %v strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 16
        : tensor<8x64x28x28xf32>, tensor<64x4x3x3xf32> -> tensor<8x64x28x28xf32>
    gradus.return %1 : tensor<8x64x28x28xf32>
  }
}

// RUN: gradus-opt %s --select --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gradus-opt %s --select --propagate-layouts | FileCheck %s
// RUN: gradus-opt %s --select --propagate-layouts --select --propagate-layouts | FileCheck %s
// RUN: gradus-opt %s --select=library=never --propagate-layouts | FileCheck %s --check-prefix=NEVER
// RUN: gradus-opt %s --select=library=always --propagate-layouts | FileCheck %s --check-prefix=ALWAYS

// NEVER-NOT: plan.library
// REMARK: [Passed] Selected {{.*}}matmul+bias+tanh
// REMARK: [Missed] NotSelected {{.*}}it is small
// REMARK: [Missed] NotSelected {{.*}}it is narrow
gradus.program @p {
  // A large product takes its bias and activation along.
  // CHECK-LABEL: gradus.graph @dense
  // CHECK: plan.library "matmul"(%x, %w, %b) config {activation = "tanh"} layouts
  // CHECK-SAME: {dims = array<i64: 384, 384>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 384, 384>, strides = array<i64: 1, 384>}
  // CHECK-SAME: {dims = array<i64: 1, 384>
  // CHECK-SAME: label = "matmul+bias+tanh"
  // CHECK-NOT: arith.addf
  // CHECK: gradus.return
  gradus.graph @dense(%x: tensor<384x384xf32>, %w: tensor<384x384xf32>, %b: tensor<384xf32>) -> (y: tensor<384x384xf32>) {
    %0 = gradus.matmul %x, %w transposed : tensor<384x384xf32>, tensor<384x384xf32> -> tensor<384x384xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<384xf32> -> tensor<384x384xf32>
    %2 = arith.addf %0, %1 : tensor<384x384xf32>
    %3 = math.tanh %2 : tensor<384x384xf32>
    gradus.return %3 : tensor<384x384xf32>
  }

  // What others read is no part of an epilogue.
  // CHECK-LABEL: gradus.graph @read_twice
  // CHECK: %[[P:.*]] = plan.library "matmul"(%x, %w) config {} layouts
  // CHECK: gradus.relu %[[P]]
  gradus.graph @read_twice(%x: tensor<384x384xf32>, %w: tensor<384x384xf32>) -> (y: tensor<384x384xf32>, z: tensor<384x384xf32>) {
    %0 = gradus.matmul %x, %w : tensor<384x384xf32>, tensor<384x384xf32> -> tensor<384x384xf32>
    %1 = gradus.relu %0 : tensor<384x384xf32>
    gradus.return %0, %1 : tensor<384x384xf32>, tensor<384x384xf32>
  }

  // Small ones stay with us.
  // CHECK-LABEL: gradus.graph @small
  // CHECK: gradus.matmul
  // ALWAYS-LABEL: gradus.graph @small
  // ALWAYS: plan.library "matmul"
  gradus.graph @small(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> (y: tensor<32x32xf32>) {
    %0 = gradus.matmul %x, %w : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    gradus.return %0 : tensor<32x32xf32>
  }

  // Narrow ones too: one input channel.
  // CHECK-LABEL: gradus.graph @narrow
  // CHECK: gradus.convolution
  // CHECK-NOT: plan.library
  gradus.graph @narrow(%x: tensor<32x1x64x64xf32>, %w: tensor<32x1x3x3xf32>) -> (y: tensor<32x32x62x62xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<32x1x64x64xf32>, tensor<32x1x3x3xf32> -> tensor<32x32x62x62xf32>
    gradus.return %0 : tensor<32x32x62x62xf32>
  }

  // Unless there is much to do, as in the stem of a network for large images.
  // CHECK-LABEL: gradus.graph @stem
  // CHECK: plan.library "convolution"
  gradus.graph @stem(%x: tensor<8x3x224x224xf32>, %w: tensor<64x3x7x7xf32>) -> (y: tensor<8x64x112x112xf32>) {
    %0 = gradus.convolution %x, %w strides [2, 2] pads [3, 3] to [3, 3] dilations [1, 1] : tensor<8x3x224x224xf32>, tensor<64x3x7x7xf32> -> tensor<8x64x112x112xf32>
    gradus.return %0 : tensor<8x64x112x112xf32>
  }

  // The stem of MobileNet is less (173 MFLOP), and the gradient of its weights.
  // CHECK-LABEL: gradus.graph @light_stem
  // CHECK: plan.library "convolution"
  // CHECK: plan.library "convolution_backward_weights"
  gradus.graph @light_stem(%x: tensor<8x3x224x224xf32>, %w: tensor<32x3x3x3xf32>, %g: tensor<8x32x112x112xf32>) -> (y: tensor<8x32x112x112xf32>, d: tensor<32x3x3x3xf32>) {
    %0 = gradus.convolution %x, %w strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x3x224x224xf32>, tensor<32x3x3x3xf32> -> tensor<8x32x112x112xf32>
    %1 = gradus.convolution_backward_weights %x, %g strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x3x224x224xf32>, tensor<8x32x112x112xf32> -> tensor<32x3x3x3xf32>
    gradus.return %0, %1 : tensor<8x32x112x112xf32>, tensor<32x3x3x3xf32>
  }

  // As many operations from many channels to few are no stem.
  // CHECK-LABEL: gradus.graph @head
  // CHECK: gradus.convolution
  // CHECK-NOT: plan.library
  gradus.graph @head(%x: tensor<8x32x112x112xf32>, %w: tensor<3x32x3x3xf32>) -> (y: tensor<8x3x112x112xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x32x112x112xf32>, tensor<3x32x3x3xf32> -> tensor<8x3x112x112xf32>
    gradus.return %0 : tensor<8x3x112x112xf32>
  }

  // Depthwise convolutions are the library's in two dimensions without gaps.
  // CHECK-LABEL: gradus.graph @depthwise
  // CHECK: plan.library "convolution"
  // CHECK: gradus.convolution {{.*}} dilations [2, 2]
  // CHECK: gradus.convolution {{.*}} strides [1]
  // CHECK-NOT: plan.library "convolution"
  gradus.graph @depthwise(%x: tensor<8x96x56x56xf32>, %w: tensor<96x1x3x3xf32>, %l: tensor<8x96x3136xf32>, %k: tensor<96x1x3xf32>) -> (y: tensor<8x96x56x56xf32>, z: tensor<8x96x56x56xf32>, m: tensor<8x96x3136xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 96 : tensor<8x96x56x56xf32>, tensor<96x1x3x3xf32> -> tensor<8x96x56x56xf32>
    %1 = gradus.convolution %x, %w strides [1, 1] pads [2, 2] to [2, 2] dilations [2, 2] groups 96 : tensor<8x96x56x56xf32>, tensor<96x1x3x3xf32> -> tensor<8x96x56x56xf32>
    %2 = gradus.convolution %l, %k strides [1] pads [1] to [1] dilations [1] groups 96 : tensor<8x96x3136xf32>, tensor<96x1x3xf32> -> tensor<8x96x3136xf32>
    gradus.return %0, %1, %2 : tensor<8x96x56x56xf32>, tensor<8x96x56x56xf32>, tensor<8x96x3136xf32>
  }
}

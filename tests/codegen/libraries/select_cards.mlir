// RUN: gradus-opt %s --select=provider=cuda --propagate-layouts=provider=cuda | FileCheck %s
// RUN: gradus-opt %s --select=provider=cuda --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] Selected {{.*}}matmul+bias+gelu_tanh
// REMARK: [Missed] NotSelected {{.*}}it is small
// REMARK: [Missed] NotSelected {{.*}}it is narrow
gradus.program @products {
  // CHECK-LABEL: gradus.graph @dense
  // A bias has the result's type, and scratch is there for split sums.
  // CHECK: %[[B:.*]] = arith.truncf %b : tensor<256xf32> to tensor<256xbf16>
  // CHECK: plan.library "matmul"(%x, %w, %[[B]]) config {activation = "gelu_tanh"}
  // CHECK-SAME: scratch = 787456 : i64} : (tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256xbf16>) -> tensor<256x256xbf16>
  gradus.graph @dense(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>, %b: tensor<256xf32>) -> (y: tensor<256x256xbf16>) {
    %0 = gradus.matmul %x, %w : tensor<256x256xbf16>, tensor<256x256xbf16> -> tensor<256x256xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<256xf32> -> tensor<256x256xf32>
    %2 = arith.addf %0, %1 : tensor<256x256xf32>
    %3 = gradus.gelu %2 tanh : tensor<256x256xf32>
    %4 = arith.truncf %3 : tensor<256x256xf32> to tensor<256x256xbf16>
    gradus.return %4 : tensor<256x256xbf16>
  }

  // cuBLASLt has no tanh.
  // CHECK-LABEL: gradus.graph @other_activation
  // CHECK: plan.library "matmul"(%x, %w) config {}
  // CHECK: math.tanh
  gradus.graph @other_activation(%x: tensor<256x256xf16>, %w: tensor<256x256xf16>) -> (y: tensor<256x256xf32>) {
    %0 = gradus.matmul %x, %w : tensor<256x256xf16>, tensor<256x256xf16> -> tensor<256x256xf32>
    %1 = math.tanh %0 : tensor<256x256xf32>
    gradus.return %1 : tensor<256x256xf32>
  }

  // CHECK-LABEL: gradus.graph @small
  // CHECK: gradus.matmul
  gradus.graph @small(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> (y: tensor<32x32xf32>) {
    %0 = gradus.matmul %x, %w : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    gradus.return %0 : tensor<32x32xf32>
  }

  // In f32 channels stay where they are, and so do a bias and an activation.
  // CHECK-LABEL: gradus.graph @single_precision
  // CHECK: plan.library "convolution"(%x, %w) config
  // CHECK-SAME: (tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32>
  // CHECK: gradus.relu
  gradus.graph @single_precision(%x: tensor<8x16x16x16xf32>, %w: tensor<16x16x3x3xf32>) -> (y: tensor<8x16x16x16xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32> -> tensor<8x16x16x16xf32>
    %1 = gradus.relu %0 : tensor<8x16x16x16xf32>
    gradus.return %1 : tensor<8x16x16x16xf32>
  }

  // A convolution of each channel alone is ours.
  // CHECK-LABEL: gradus.graph @depthwise
  // CHECK-NOT: plan.library
  // CHECK: gradus.return
  gradus.graph @depthwise(%x: tensor<8x64x64x64xf32>, %w: tensor<64x1x3x3xf32>) -> (y: tensor<8x64x62x62xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 64 : tensor<8x64x64x64xf32>, tensor<64x1x3x3xf32> -> tensor<8x64x62x62xf32>
    gradus.return %0 : tensor<8x64x62x62xf32>
  }

  // In 16 bits they come last: two transposes go in, one comes out, and what
  // stands between two convolutions works on them. Results have 16 bits, too.
  // CHECK-LABEL: gradus.graph @channels_last
  // CHECK-NOT: "reorder"
  // CHECK-COUNT-2: gradus.transpose
  // CHECK: plan.library "convolution"{{.*}}{dims = array<i64: 8, 16, 16, 16>, inner_axes = array<i64: 1>, inner_blocks = array<i64: 16>
  // CHECK-SAME: (tensor<8x1x16x16x16xbf16>, tensor<16x1x3x3x16xbf16>) -> tensor<8x1x16x16x16xbf16>
  // CHECK-NOT: gradus.transpose
  // CHECK: arith.extf
  // CHECK: gradus.relu {{.*}} : tensor<8x1x16x16x16xf32>
  // CHECK: plan.library "convolution"
  // CHECK: gradus.transpose
  // CHECK: gradus.return
  gradus.graph @channels_last(%x: tensor<8x16x16x16xbf16>, %w: tensor<16x16x3x3xbf16>) -> (y: tensor<8x16x16x16xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x16x16x16xbf16>, tensor<16x16x3x3xbf16> -> tensor<8x16x16x16xf32>
    %1 = gradus.relu %0 : tensor<8x16x16x16xf32>
    %2 = arith.truncf %1 : tensor<8x16x16x16xf32> to tensor<8x16x16x16xbf16>
    %3 = gradus.convolution %2, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x16x16x16xbf16>, tensor<16x16x3x3xbf16> -> tensor<8x16x16x16xf32>
    gradus.return %3 : tensor<8x16x16x16xf32>
  }

  // Cards round a product to what its operands are, and to nothing else.
  // CHECK-LABEL: gradus.graph @rounded
  // CHECK: plan.library "convolution"{{.*}} : (tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32>
  // CHECK: arith.truncf {{.*}} : tensor<8x16x16x16xf32> to tensor<8x16x16x16xbf16>
  // CHECK: plan.library "matmul"{{.*}} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  // CHECK: arith.truncf {{.*}} : tensor<256x256xf32> to tensor<256x256xbf16>
  gradus.graph @rounded(%x: tensor<8x16x16x16xf32>, %w: tensor<16x16x3x3xf32>, %a: tensor<256x256xf32>) -> (y: tensor<8x16x16x16xbf16>, z: tensor<256x256xbf16>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32> -> tensor<8x16x16x16xf32>
    %1 = arith.truncf %0 : tensor<8x16x16x16xf32> to tensor<8x16x16x16xbf16>
    %2 = gradus.matmul %a, %a : tensor<256x256xf32>, tensor<256x256xf32> -> tensor<256x256xf32>
    %3 = arith.truncf %2 : tensor<256x256xf32> to tensor<256x256xbf16>
    gradus.return %1, %3 : tensor<8x16x16x16xbf16>, tensor<256x256xbf16>
  }

  // A gradient of weights comes back to where the weights lie, for its update.
  // CHECK-LABEL: gradus.graph @update
  // CHECK: plan.library "convolution_backward_weights"
  // CHECK: gradus.transpose
  // CHECK: arith.addf {{.*}} : tensor<16x16x3x3xf32>
  // CHECK: gradus.write @w, {{.*}} : tensor<16x16x3x3xf32>
  gradus.state @w : tensor<16x16x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @update(%x: tensor<8x16x16x16xbf16>, %g: tensor<8x16x16x16xbf16>) -> () {
    %w = gradus.read @w : tensor<16x16x3x3xf32>
    %0 = gradus.convolution_backward_weights %x, %g strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x16x16x16xbf16>, tensor<8x16x16x16xbf16> -> tensor<16x16x3x3xf32>
    %1 = arith.addf %w, %0 : tensor<16x16x3x3xf32>
    gradus.write @w, %1 : tensor<16x16x3x3xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --lower-to-kernels | FileCheck %s
// RUN: gradus-opt %s --lower-to-kernels --lower-to-kernels | FileCheck %s

// Equal ops share a kernel. Ops of other kinds stay, and so does what nobody
// uses.
// CHECK-LABEL: gradus.graph @attend
// CHECK:         plan.launch @kernel0_attention
// CHECK:         plan.launch @kernel0_attention
// CHECK:         arith.addf
// CHECK:         gradus.attention %x
// CHECK:         gradus.return

// A block of 27 columns, in squares of 16, and several parts of the rows, which
// a nest adds up. Of the patches a tile is in memory at a time.
// CHECK-LABEL: gradus.graph @measure
// CHECK:         %[[G:.*]] = plan.launch @kernel1_gram(%x) items {{\[}}[[PARTS:[0-9]+]]] grain 1 inplace [-1] {flops = 18662400 : i64, label = "gram"} : (tensor<8x3x40x40xf32>) -> tensor<[[PARTS]]x32x32xf32>
// CHECK:         plan.nest parallel [27, 27] reduced {{\[}}[[PARTS]]] ins(%[[G]], %[[G]]
// CHECK-NOT:     gradus.gram

// Matrices of whole panels are inverted in the result's memory, others in a
// padded matrix beside it.
// CHECK-LABEL: gradus.graph @invert
// CHECK:         gradus.reshape %x : tensor<2x3x32x32xf32> -> tensor<6x32x32xf32>
// CHECK:         plan.launch @kernel2_inverse(%{{.*}}) items [6] grain 1 inplace [-1] {flops = 196608 : i64, label = "inverse"} : (tensor<6x32x32xf32>) -> tensor<6x32x32xf32>
// CHECK:         plan.launch @kernel3_inverse(%{{.*}}) items [1] grain 1 inplace [-1, -1] {{.*}} -> (tensor<1x20x20xf32>, tensor<1x32x32xf32>)
// CHECK-NOT:     gradus.inverse

// CHECK:       plan.kernel @kernel1_gram
// CHECK:         plan.scratch : memref<32x{{[0-9]+}}xf32>
// CHECK-NOT:     plan.scratch
// CHECK:       plan.kernel @kernel2_inverse
gradus.program @p {
  gradus.graph @attend(%x: tensor<1x2x3x4xf32>) -> (y: tensor<1x2x3x4xf32>) {
    %a, %l:2 = gradus.attention %x, %x, %x {scale = 0.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    %b, %m:2 = gradus.attention %a, %x, %x {scale = 0.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    %y = arith.addf %a, %b : tensor<1x2x3x4xf32>
    %c, %n:2 = gradus.attention %x, %x, %x causal {scale = 0.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return %y : tensor<1x2x3x4xf32>
  }
  gradus.graph @measure(%x: tensor<8x3x40x40xf32>) -> (a: tensor<1x27x27xf32>) {
    %a = gradus.gram %x window [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] block 27 : tensor<8x3x40x40xf32> -> tensor<1x27x27xf32>
    gradus.return %a : tensor<1x27x27xf32>
  }
  gradus.graph @invert(%x: tensor<2x3x32x32xf32>, %y: tensor<20x20xf32>) -> (a: tensor<2x3x32x32xf32>, b: tensor<20x20xf32>) {
    %a = gradus.inverse %x : tensor<2x3x32x32xf32>
    %b = gradus.inverse %y : tensor<20x20xf32>
    gradus.return %a, %b : tensor<2x3x32x32xf32>, tensor<20x20xf32>
  }
}

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

gradus.program @p {
  gradus.graph @attend(%x: tensor<1x2x3x4xf32>) -> (y: tensor<1x2x3x4xf32>) {
    %a, %l:2 = gradus.attention %x, %x, %x {scale = 0.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    %b, %m:2 = gradus.attention %a, %x, %x {scale = 0.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    %y = arith.addf %a, %b : tensor<1x2x3x4xf32>
    %c, %n:2 = gradus.attention %x, %x, %x causal {scale = 0.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return %y : tensor<1x2x3x4xf32>
  }
}

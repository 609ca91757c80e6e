// RUN: gradus-opt %s --lower-to-kernels | FileCheck %s
// RUN: gradus-opt %s --lower-to-kernels=pairs=false | FileCheck %s --check-prefix=WIDE

// Kernels read the bf16 that queries, keys and values are, and a gradient that
// is rounded for them and the sum beside them. AVX512-BF16 multiplies pairs.
// What else reads the gradient has all its bits.
// CHECK:     gradus.graph @even
// CHECK:       %[[G:.*]] = arith.truncf %g : tensor<1x3x8x4xf32> to tensor<1x3x8x4xbf16>
// CHECK:       plan.launch @kernel0_attention(%{{.*}}) {{.*}} label = "attention, pairs of bf16"{{.*}} : (tensor<3x8x4xbf16>, tensor<3x8x4xbf16>, tensor<3x8x4xbf16>) -> (tensor<3x8x4xf32>,
// CHECK:       %[[D:.*]] = arith.mulf %g, %{{.*}} : tensor<1x3x8x4xf32>
// CHECK-NEXT:  %[[W:.*]] = arith.extf %[[G]]
// CHECK-NEXT:  %[[P:.*]] = arith.mulf %[[W]]
// CHECK-NEXT:  %[[S:.*]] = gradus.reduce sum %[[P]] axes [3]
// CHECK-NOT:   gradus.reduce
// CHECK:       gradus.reshape %[[S]]
// CHECK:       plan.launch @kernel1_attention_backward(%{{.*}}) {{.*}} : (tensor<3x8x4xbf16>, tensor<3x8x4xbf16>, tensor<3x8x4xbf16>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8x4xbf16>, tensor<3x8xf32>)
// CHECK:       gradus.return %[[D]],
// A bf16 that is there already is read, in place of a second one; sums that
// the gradient of the logsumexp is taken from are of it, too.
// CHECK:     gradus.graph @shared
// CHECK:       %[[G:.*]] = arith.truncf %g
// CHECK-NOT:   arith.truncf
// CHECK:       %[[W:.*]] = arith.extf %[[G]]
// CHECK-NEXT:  %[[P:.*]] = arith.mulf %{{.*}}, %[[W]]
// CHECK-NEXT:  %[[S:.*]] = gradus.reduce sum %[[P]] axes [3]
// CHECK-NEXT:  %[[L:.*]] = arith.subf %[[S]], %h
// CHECK-NOT:   arith.mulf
// CHECK:       gradus.reshape %[[L]]
// An odd number of features has no pairs.
// CHECK:   gradus.graph @odd
// CHECK:     plan.launch @kernel{{.*}}_attention(%{{.*}}) {{.*}} label = "attention"{{.*}} : (tensor<3x8x5xf32>,
// CHECK:     plan.kernel @kernel0_attention
// CHECK:       plan.pairs %{{.*}} : memref<3x8x4xbf16> -> memref<3x8x2xi32>
// CHECK:       plan.dot_pairs
// WIDE-NOT:  plan.dot_pairs
gradus.program @narrow {
  gradus.graph @even(%q: tensor<1x3x8x4xbf16>, %k: tensor<1x3x8x4xbf16>, %v: tensor<1x3x8x4xbf16>, %g: tensor<1x3x8x4xf32>)
      -> (d: tensor<1x3x8x4xf32>, dq: tensor<1x3x8x4xf32>, dk: tensor<1x3x8x4xf32>, dv: tensor<1x3x8x4xf32>) {
    %a = arith.extf %q : tensor<1x3x8x4xbf16> to tensor<1x3x8x4xf32>
    %b = arith.extf %k : tensor<1x3x8x4xbf16> to tensor<1x3x8x4xf32>
    %c = arith.extf %v : tensor<1x3x8x4xbf16> to tensor<1x3x8x4xf32>
    %y, %l:2 = gradus.attention %a, %b, %c {scale = 0.5 : f64}
        : (tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>) -> (tensor<1x3x8x4xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>)
    %d = arith.mulf %g, %y : tensor<1x3x8x4xf32>
    %s = gradus.reduce sum %d axes [3] : tensor<1x3x8x4xf32> -> tensor<1x3x8xf32>
    %dq, %dk, %dv = gradus.attention_backward %a, %b, %c, %l#0, %l#1, %g, %s {scale = 0.5 : f64}
        : (tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8xf32>)
        -> (tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>)
    gradus.return %d, %dq, %dk, %dv : tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>
  }

  gradus.graph @shared(%q: tensor<1x3x8x4xbf16>, %l: tensor<1x3x8xf32>, %y: tensor<1x3x8x4xf32>, %g: tensor<1x3x8x4xf32>, %h: tensor<1x3x8xf32>)
      -> (n: tensor<1x3x8x4xbf16>, dq: tensor<1x3x8x4xf32>) {
    %a = arith.extf %q : tensor<1x3x8x4xbf16> to tensor<1x3x8x4xf32>
    %n = arith.truncf %g : tensor<1x3x8x4xf32> to tensor<1x3x8x4xbf16>
    %d = arith.mulf %y, %g : tensor<1x3x8x4xf32>
    %s = gradus.reduce sum %d axes [3] : tensor<1x3x8x4xf32> -> tensor<1x3x8xf32>
    %t = arith.subf %s, %h : tensor<1x3x8xf32>
    %dq, %dk, %dv = gradus.attention_backward %a, %a, %a, %l, %l, %g, %t {scale = 0.5 : f64}
        : (tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8xf32>)
        -> (tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>, tensor<1x3x8x4xf32>)
    gradus.return %n, %dq : tensor<1x3x8x4xbf16>, tensor<1x3x8x4xf32>
  }

  gradus.graph @odd(%q: tensor<1x3x8x5xbf16>) -> (y: tensor<1x3x8x5xf32>) {
    %a = arith.extf %q : tensor<1x3x8x5xbf16> to tensor<1x3x8x5xf32>
    %y, %l:2 = gradus.attention %a, %a, %a {scale = 0.5 : f64}
        : (tensor<1x3x8x5xf32>, tensor<1x3x8x5xf32>, tensor<1x3x8x5xf32>) -> (tensor<1x3x8x5xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>)
    gradus.return %y : tensor<1x3x8x5xf32>
  }
}

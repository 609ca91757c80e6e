// RUN: gradus-opt %s --lower-scans | FileCheck %s
// RUN: gradus-opt %s --lower-scans=pairs=false | FileCheck %s --check-prefix=WIDE

// A matmul of what a step rounds: it is stored rounded, and multiplies pairs of
// neighbours along the sum. A turned weight has them already.
// CHECK-LABEL: gradus.graph @pairs
// CHECK:         %[[P:.*]] = gradus.reshape %w : tensor<32x16xbf16> -> tensor<1x32x8x2xbf16>
// CHECK-NEXT:    %[[Q:.*]] = gradus.transpose %[[P]] perm [0, 2, 1, 3]
// CHECK:         %[[R:.*]] = gradus.reshape %u : tensor<32x16xbf16> -> tensor<16x2x1x16xbf16>
// CHECK-NEXT:    %[[S:.*]] = gradus.transpose %[[R]] perm [2, 0, 3, 1]
// CHECK:         plan.launch @[[K:.*]](%{{.*}}, %[[Q]], %[[S]])
// CHECK:       plan.kernel @[[K]]
// CHECK-COUNT-2: plan.dot_pairs
// WIDE:          gradus.reshape %w : tensor<32x16xbf16> -> tensor<2x16x16xbf16>
// WIDE-NOT:      plan.dot_pairs
gradus.program @p {
  gradus.graph @pairs(%h: tensor<24x16xf32>, %w: tensor<32x16xbf16>, %u: tensor<32x16xbf16>) -> (y: tensor<24x16xf32>) {
    %y = gradus.scan 2 carry(%h : tensor<24x16xf32>) with(%w, %u : tensor<32x16xbf16>, tensor<32x16xbf16>) body {
    ^bb0(%a: tensor<24x16xf32>, %v: tensor<32x16xbf16>, %t: tensor<32x16xbf16>):
      %n = arith.truncf %a : tensor<24x16xf32> to tensor<24x16xbf16>
      %p = gradus.matmul %n, %v transposed : tensor<24x16xbf16>, tensor<32x16xbf16> -> tensor<24x32xf32>
      %m = arith.truncf %p : tensor<24x32xf32> to tensor<24x32xbf16>
      %q = gradus.matmul %m, %t : tensor<24x32xbf16>, tensor<32x16xbf16> -> tensor<24x16xf32>
      gradus.yield %q : tensor<24x16xf32>
    } -> tensor<24x16xf32>
    gradus.return %y : tensor<24x16xf32>
  }
}

// Rows of odd length are no whole pairs.
// CHECK-LABEL: gradus.program @odd
// CHECK-NOT:     plan.dot_pairs
gradus.program @odd {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
  gradus.graph @predict(%h: tensor<6x4xf32>, %x: tensor<3x6x7xf32>) -> (y: tensor<6x4xf32>) {
    %w0 = gradus.read @w : tensor<4x4xf32>
    %w = arith.truncf %w0 : tensor<4x4xf32> to tensor<4x4xbf16>
    %t = arith.truncf %x : tensor<3x6x7xf32> to tensor<3x6x7xbf16>
    %y = gradus.scan 3 carry(%h : tensor<6x4xf32>) over(%t : tensor<3x6x7xbf16>) with(%w : tensor<4x4xbf16>) body {
    ^bb0(%a: tensor<6x4xf32>, %s: tensor<6x7xbf16>, %v: tensor<4x4xbf16>):
      %q = gradus.slice %s starts [0, 0] steps [1, 1] : tensor<6x7xbf16> -> tensor<6x4xbf16>
      %p = gradus.matmul %q, %v : tensor<6x4xbf16>, tensor<4x4xbf16> -> tensor<6x4xf32>
      %e = arith.addf %p, %a : tensor<6x4xf32>
      %f = math.tanh %e : tensor<6x4xf32>
      gradus.yield %f : tensor<6x4xf32>
    } -> tensor<6x4xf32>
    gradus.return %y : tensor<6x4xf32>
  }
}

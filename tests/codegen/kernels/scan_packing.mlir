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
// WIDE:          gradus.reshape %w : tensor<32x16xbf16> -> tensor<1x32x16xbf16>
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

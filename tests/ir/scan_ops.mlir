// RUN: gradus-opt %s --canonicalize | FileCheck %s

// Results without users go, and the carried values and operands that only they
// need; a carried value that a result needs stays.
// CHECK-LABEL: gradus.graph @unused
// CHECK: %[[S:.*]]:2 = gradus.scan 3 reverse carry(%x : tensor<4xf32>) over(%s : tensor<3x4xf32>) body {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: gradus.yield %[[C]], %[[A]] :
// CHECK-NEXT: } -> tensor<4xf32>, tensor<3x4xf32>
// CHECK: gradus.return %[[S]]#1
gradus.program @p {
  gradus.graph @unused(%x: tensor<4xf32>, %s: tensor<3x4xf32>, %w: tensor<4xf32>) -> (y: tensor<3x4xf32>) {
    %last:2, %kept, %gone = gradus.scan 3 reverse carry(%x, %x : tensor<4xf32>, tensor<4xf32>) over(%s, %s : tensor<3x4xf32>, tensor<3x4xf32>) with(%w : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %t: tensor<4xf32>, %u: tensor<4xf32>, %v: tensor<4xf32>):
      %c = arith.addf %a, %t : tensor<4xf32>
      %d = arith.mulf %b, %v : tensor<4xf32>
      %e = arith.mulf %d, %u : tensor<4xf32>
      gradus.yield %c, %e, %a, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    } -> tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
    gradus.return %kept : tensor<3x4xf32>
  }
}

// What is stored in 16 bits is extended in the steps, and what is only read
// rounded is rounded there; equal values are stacked once.
// CHECK-LABEL: gradus.graph @narrow
// CHECK: %[[S:.*]]:2 = gradus.scan 3 carry(%x : tensor<4xf32>) over(%s : tensor<3x4xbf16>) body {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xbf16>):
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[B]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[A]], %[[W]]
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[C]] : tensor<4xf32> to tensor<4xbf16>
// CHECK-NEXT: gradus.yield %[[C]], %[[R]] :
// CHECK-NEXT: } -> tensor<4xf32>, tensor<3x4xbf16>
// CHECK: gradus.return %[[S]]#1, %[[S]]#1
gradus.program @q {
  gradus.graph @narrow(%x: tensor<4xf32>, %s: tensor<3x4xbf16>) -> (y: tensor<3x4xbf16>, z: tensor<3x4xbf16>) {
    %wide = arith.extf %s : tensor<3x4xbf16> to tensor<3x4xf32>
    %last, %all, %again = gradus.scan 3 carry(%x : tensor<4xf32>) over(%wide : tensor<3x4xf32>) body {
    ^bb0(%a: tensor<4xf32>, %t: tensor<4xf32>):
      %c = arith.addf %a, %t : tensor<4xf32>
      gradus.yield %c, %c, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    } -> tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
    %y = arith.truncf %all : tensor<3x4xf32> to tensor<3x4xbf16>
    %z = arith.truncf %again : tensor<3x4xf32> to tensor<3x4xbf16>
    gradus.return %y, %z : tensor<3x4xbf16>, tensor<3x4xbf16>
  }
}

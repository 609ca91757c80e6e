// RUN: gradus-opt %s --merge-rows --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gradus-opt %s --merge-rows | FileCheck %s
// REMARK: [Passed] Merged

gradus.program @p {
  // A residual, its layer norm without weights, and the next product's operand.
  // CHECK-LABEL: gradus.graph @layer_norm
  // CHECK: %[[X:.*]] = gradus.reshape %x : tensor<2x3x8xf32> -> tensor<6x8xf32>
  // CHECK: %[[S:.*]] = arith.addf %[[X]], %p : tensor<6x8xf32>
  // CHECK: %[[M:.*]] = gradus.reduce mean %[[S]] axes [1] : tensor<6x8xf32> -> tensor<6xf32>
  // CHECK: %[[R:.*]] = gradus.broadcast %[[M]] dims [0] : tensor<6xf32> -> tensor<6x8xf32>
  // CHECK: %[[D:.*]] = arith.subf %[[S]], %[[R]] : tensor<6x8xf32>
  // CHECK: gradus.return %[[D]]
  gradus.graph @layer_norm(%x: tensor<2x3x8xf32>, %p: tensor<6x8xf32>) -> (y: tensor<6x8xf32>) {
    %0 = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %1 = arith.addf %x, %0 : tensor<2x3x8xf32>
    %2 = gradus.reduce mean %1 axes [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
    %3 = gradus.broadcast %2 dims [0, 1] : tensor<2x3xf32> -> tensor<2x3x8xf32>
    %4 = arith.subf %1, %3 : tensor<2x3x8xf32>
    %5 = gradus.reshape %4 : tensor<2x3x8xf32> -> tensor<6x8xf32>
    gradus.return %5 : tensor<6x8xf32>
  }

  // One-hot labels are made as rows, and summed over all of them at once.
  // CHECK-LABEL: gradus.graph @labels
  // CHECK-NOT: 2x3x8
  // CHECK: %[[C:.*]] = gradus.iota axis 1 : tensor<6x8xi64>
  // CHECK: arith.cmpi eq, %[[C]]
  // CHECK: gradus.reduce sum {{.*}} axes [0] : tensor<6x8xf32> -> tensor<8xf32>
  // CHECK: gradus.return
  gradus.graph @labels(%p: tensor<6x8xf32>, %label: tensor<2x3xi64>) -> (s: tensor<8xf32>) {
    %0 = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %zero = arith.constant dense<0.0> : tensor<2x3x8xf32>
    %1 = gradus.iota axis 2 : tensor<2x3x8xi64>
    %2 = gradus.broadcast %label dims [0, 1] : tensor<2x3xi64> -> tensor<2x3x8xi64>
    %3 = arith.cmpi eq, %1, %2 : tensor<2x3x8xi64>
    %4 = arith.select %3, %0, %zero : tensor<2x3x8xi1>, tensor<2x3x8xf32>
    %5 = gradus.reduce sum %4 axes [0, 1] : tensor<2x3x8xf32> -> tensor<8xf32>
    gradus.return %5 : tensor<8xf32>
  }

  // What has one of the two dimensions alone is seen as a matrix.
  // CHECK-LABEL: gradus.graph @positions
  // CHECK: %[[B:.*]] = gradus.broadcast %e dims [1, 2] : tensor<3x8xf32> -> tensor<2x3x8xf32>
  // CHECK: gradus.reshape %[[B]] : tensor<2x3x8xf32> -> tensor<6x8xf32>
  // CHECK: gradus.reduce sum {{.*}} axes [0] : tensor<2x3x8xf32> -> tensor<3x8xf32>
  gradus.graph @positions(%p: tensor<6x8xf32>, %e: tensor<3x8xf32>) -> (s: tensor<3x8xf32>) {
    %0 = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %1 = gradus.broadcast %e dims [1, 2] : tensor<3x8xf32> -> tensor<2x3x8xf32>
    %2 = arith.mulf %0, %1 : tensor<2x3x8xf32>
    %3 = gradus.reduce sum %2 axes [0] : tensor<2x3x8xf32> -> tensor<3x8xf32>
    gradus.return %3 : tensor<3x8xf32>
  }

  // Where no matrix is there is nothing to do.
  // CHECK-LABEL: gradus.graph @untouched
  // CHECK: arith.addf {{.*}} : tensor<2x3x8xf32>
  gradus.graph @untouched(%x: tensor<2x3x8xf32>) -> (y: tensor<2x3x8xf32>) {
    %0 = arith.addf %x, %x : tensor<2x3x8xf32>
    gradus.return %0 : tensor<2x3x8xf32>
  }
}

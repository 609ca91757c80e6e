// RUN: gradus-opt %s --canonicalize | FileCheck %s
// RUN: gradus-opt %s --canonicalize | gradus-opt | FileCheck %s

gradus.program @p {
  // What stops a gradient folds where there is none to stop.
  // CHECK-LABEL: @stops(%x: tensor<3xf32>)
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant
  // CHECK-NEXT: %[[STOP:.*]] = gradus.stop_gradient %x : tensor<3xf32>
  // CHECK-NEXT: %[[PASS:.*]] = gradus.stop_gradient %[[ONE]] passing_to %x : tensor<3xf32>
  // CHECK-NEXT: gradus.return %[[STOP]], %[[PASS]], %[[ONE]]
  gradus.graph @stops(%x: tensor<3xf32>) -> (y: tensor<3xf32>, z: tensor<3xf32>, c: tensor<3xf32>) {
    %0 = gradus.stop_gradient %x : tensor<3xf32>
    %1 = gradus.stop_gradient %0 : tensor<3xf32>
    %one = arith.constant dense<1.0> : tensor<3xf32>
    %2 = gradus.stop_gradient %one : tensor<3xf32>
    %3 = gradus.stop_gradient %one passing_to %x : tensor<3xf32>
    gradus.return %1, %3, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
}

// RUN: gradus-opt %s --canonicalize | FileCheck %s
// RUN: gradus-opt %s --canonicalize | gradus-opt | FileCheck %s

gradus.program @folds {
  // The last of several reshapes alone counts.
  // CHECK-LABEL: @reshapes(%x: tensor<2x6xf32>)
  // CHECK-NEXT: %[[Y:.*]] = gradus.reshape %x : tensor<2x6xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: gradus.return %[[Y]], %x
  gradus.graph @reshapes(%x: tensor<2x6xf32>) -> (y: tensor<4x3xf32>, z: tensor<2x6xf32>) {
    %0 = gradus.reshape %x : tensor<2x6xf32> -> tensor<12xf32>
    %1 = gradus.reshape %0 : tensor<12xf32> -> tensor<4x3xf32>
    %2 = gradus.reshape %0 : tensor<12xf32> -> tensor<2x6xf32>
    gradus.return %1, %2 : tensor<4x3xf32>, tensor<2x6xf32>
  }

  // Two transposes are one, or none.
  // CHECK-LABEL: @transposes(%x: tensor<2x3x4xf32>)
  // CHECK-NEXT: %[[Y:.*]] = gradus.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  // CHECK-NEXT: gradus.return %[[Y]], %x
  gradus.graph @transposes(%x: tensor<2x3x4xf32>) -> (y: tensor<3x4x2xf32>, z: tensor<2x3x4xf32>) {
    %0 = gradus.transpose %x perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
    %1 = gradus.transpose %0 perm [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
    %2 = gradus.transpose %0 perm [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
    gradus.return %1, %2 : tensor<3x4x2xf32>, tensor<2x3x4xf32>
  }

  // CHECK-LABEL: @broadcasts(%x: tensor<3xf32>)
  // CHECK-NEXT: %[[Y:.*]] = gradus.broadcast %x dims [2] : tensor<3xf32> -> tensor<2x4x3xf32>
  // CHECK-NEXT: gradus.return %[[Y]], %x
  gradus.graph @broadcasts(%x: tensor<3xf32>) -> (y: tensor<2x4x3xf32>, z: tensor<3xf32>) {
    %0 = gradus.broadcast %x dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %1 = gradus.broadcast %0 dims [1, 2] : tensor<4x3xf32> -> tensor<2x4x3xf32>
    %2 = gradus.broadcast %x dims [0] : tensor<3xf32> -> tensor<3xf32>
    gradus.return %1, %2 : tensor<2x4x3xf32>, tensor<3xf32>
  }

  // The same number stays the same number in every shape.
  // CHECK-LABEL: @constants()
  // CHECK-DAG: %[[A:.*]] = arith.constant dense<1.000000e+00> : tensor<2x3xf32>
  // CHECK-DAG: %[[B:.*]] = arith.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
  // CHECK-NEXT: gradus.return %[[A]], %[[B]]
  gradus.graph @constants() -> (a: tensor<2x3xf32>, b: tensor<2x2xi32>) {
    %one = arith.constant dense<1.0> : tensor<f32>
    %0 = gradus.broadcast %one dims [] : tensor<f32> -> tensor<3x2xf32>
    %1 = gradus.transpose %0 perm [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
    %four = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %2 = gradus.reshape %four : tensor<4xi32> -> tensor<2x2xi32>
    gradus.return %1, %2 : tensor<2x3xf32>, tensor<2x2xi32>
  }

  // CHECK-LABEL: @nothing_to_reduce(%x: tensor<3xf32>)
  // CHECK-NEXT: gradus.return %x
  gradus.graph @nothing_to_reduce(%x: tensor<3xf32>) -> (y: tensor<3xf32>) {
    %0 = gradus.reduce mean %x axes [] : tensor<3xf32> -> tensor<3xf32>
    gradus.return %0 : tensor<3xf32>
  }

  // The others keep their form.
  // CHECK-LABEL: @others(
  // CHECK-NEXT: gradus.matmul %a transposed, %b : tensor<4x3xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  // CHECK-NEXT: gradus.reduce max %{{.*}} axes [1] : tensor<3x5xf32> -> tensor<3xf32>
  // CHECK-NEXT: gradus.relu %{{.*}} : tensor<3xf32>
  // CHECK-NEXT: gradus.sigmoid %{{.*}} : tensor<3xf32>
  // CHECK-NEXT: gradus.gelu %{{.*}} : tensor<3xf32>
  // CHECK-NEXT: gradus.gelu %{{.*}} tanh : tensor<3xf32>
  // CHECK-NEXT: gradus.iota axis 0 : tensor<3xi64>
  gradus.graph @others(%a: tensor<4x3xf32>, %b: tensor<4x5xf32>) -> (y: tensor<3xf32>, i: tensor<3xi64>) {
    %0 = gradus.matmul %a transposed, %b : tensor<4x3xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
    %1 = gradus.reduce max %0 axes [1] : tensor<3x5xf32> -> tensor<3xf32>
    %2 = gradus.relu %1 : tensor<3xf32>
    %3 = gradus.sigmoid %2 : tensor<3xf32>
    %4 = gradus.gelu %3 : tensor<3xf32>
    %5 = gradus.gelu %4 tanh : tensor<3xf32>
    %6 = gradus.iota axis 0 : tensor<3xi64>
    gradus.return %5, %6 : tensor<3xf32>, tensor<3xi64>
  }
}

// RUN: gradus-opt %s --mask-pooled --canonicalize | FileCheck %s
// RUN: gradus-opt %s --mask-pooled --mask-pooled --canonicalize | FileCheck %s

// The mask of a relu in front of a pool is that of the pool's result, and the
// sum over positions that of the pooled gradient.
// CHECK-LABEL: gradus.graph @relu
// CHECK:         %[[Y:.*]], %[[I:.*]] = gradus.max_pool %x
// CHECK:         %[[IS:.*]] = arith.cmpf ogt, %[[Y]], %{{.*}} : tensor<2x3x5x2xf32>
// CHECK:         %[[G:.*]] = arith.select %[[IS]], %dy, %{{.*}} : tensor<2x3x5x2xi1>, tensor<2x3x5x2xf32>
// CHECK:         %[[DX:.*]] = gradus.max_pool_backward %[[G]], %[[I]]
// CHECK:         %[[DB:.*]] = gradus.reduce sum %[[G]] axes [0, 2, 3] : tensor<2x3x5x2xf32> -> tensor<3xf32>
// CHECK:         gradus.return %[[Y]], %[[DX]], %[[DB]]
gradus.program @p {
  gradus.graph @relu(%x: tensor<2x3x11x5xf32>, %dy: tensor<2x3x5x2xf32>) -> (y: tensor<2x3x5x2xf32>, dx: tensor<2x3x11x5xf32>, db: tensor<3xf32>) {
    %zero = arith.constant dense<0.0> : tensor<2x3x11x5xf32>
    %y, %i = gradus.max_pool %x window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x3x11x5xf32> -> tensor<2x3x5x2xf32>, tensor<2x3x5x2xi32>
    %sent = gradus.max_pool_backward %dy, %i window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x3x5x2xf32>, tensor<2x3x5x2xi32> -> tensor<2x3x11x5xf32>
    %is = arith.cmpf ogt, %x, %zero : tensor<2x3x11x5xf32>
    %dx = arith.select %is, %sent, %zero : tensor<2x3x11x5xi1>, tensor<2x3x11x5xf32>
    %db = gradus.reduce sum %dx axes [0, 2, 3] : tensor<2x3x11x5xf32> -> tensor<3xf32>
    gradus.return %y, %dx, %db : tensor<2x3x5x2xf32>, tensor<2x3x11x5xf32>, tensor<3xf32>
  }

  // Another comparison with a number, of windows that overlap.
  // CHECK-LABEL: gradus.graph @below
  // CHECK:         arith.cmpf ole, %{{.*}}, %{{.*}} : tensor<1x2x4xf32>
  // CHECK:         gradus.max_pool_backward
  // CHECK-NOT:     arith.select
  gradus.graph @below(%x: tensor<1x2x6xf32>, %dy: tensor<1x2x4xf32>) -> (dx: tensor<1x2x6xf32>) {
    %zero = arith.constant dense<0.0> : tensor<1x2x6xf32>
    %three = arith.constant dense<3.0> : tensor<1x2x6xf32>
    %y, %i = gradus.max_pool %x window [3] strides [1] pads [0] to [0] dilations [1] : tensor<1x2x6xf32> -> tensor<1x2x4xf32>, tensor<1x2x4xi32>
    %sent = gradus.max_pool_backward %dy, %i window [3] strides [1] pads [0] to [0] dilations [1] : tensor<1x2x4xf32>, tensor<1x2x4xi32> -> tensor<1x2x6xf32>
    %is = arith.cmpf ole, %x, %three : tensor<1x2x6xf32>
    %dx = arith.select %is, %sent, %zero : tensor<1x2x6xi1>, tensor<1x2x6xf32>
    gradus.return %dx : tensor<1x2x6xf32>
  }

  // A mask of another tensor, or of numbers that differ, says nothing about the
  // result; a mask that leaves ones, and a sum over some positions, stay too.
  // CHECK-LABEL: gradus.graph @others
  // CHECK:         %[[SENT:.*]] = gradus.max_pool_backward %dy
  // CHECK:         arith.select %{{.*}}, %[[SENT]], %{{.*}} : tensor<1x2x6xi1>
  // CHECK:         %[[SECOND:.*]] = gradus.max_pool_backward %dy
  // CHECK:         arith.select %{{.*}}, %[[SECOND]], %{{.*}} : tensor<1x2x6xi1>
  // CHECK:         %[[THIRD:.*]] = gradus.max_pool_backward %dy
  // CHECK:         arith.select %{{.*}}, %[[THIRD]], %{{.*}} : tensor<1x2x6xi1>
  // CHECK:         %[[FOURTH:.*]] = gradus.max_pool_backward %dy
  // CHECK:         gradus.reduce sum %[[FOURTH]] axes [1]
  gradus.graph @others(%x: tensor<1x2x6xf32>, %z: tensor<1x2x6xf32>, %dy: tensor<1x2x3xf32>) -> (a: tensor<1x2x6xf32>, b: tensor<1x2x6xf32>, c: tensor<1x2x6xf32>, d: tensor<1x6xf32>) {
    %zero = arith.constant dense<0.0> : tensor<1x2x6xf32>
    %one = arith.constant dense<1.0> : tensor<1x2x6xf32>
    %y, %i = gradus.max_pool %x window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x6xf32> -> tensor<1x2x3xf32>, tensor<1x2x3xi32>
    %s0 = gradus.max_pool_backward %dy, %i window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x3xf32>, tensor<1x2x3xi32> -> tensor<1x2x6xf32>
    %m0 = arith.cmpf ogt, %z, %zero : tensor<1x2x6xf32>
    %a = arith.select %m0, %s0, %zero : tensor<1x2x6xi1>, tensor<1x2x6xf32>
    %s1 = gradus.max_pool_backward %dy, %i window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x3xf32>, tensor<1x2x3xi32> -> tensor<1x2x6xf32>
    %m1 = arith.cmpf ogt, %x, %z : tensor<1x2x6xf32>
    %b = arith.select %m1, %s1, %zero : tensor<1x2x6xi1>, tensor<1x2x6xf32>
    %s2 = gradus.max_pool_backward %dy, %i window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x3xf32>, tensor<1x2x3xi32> -> tensor<1x2x6xf32>
    %m2 = arith.cmpf ogt, %x, %zero : tensor<1x2x6xf32>
    %c = arith.select %m2, %s2, %one : tensor<1x2x6xi1>, tensor<1x2x6xf32>
    %s3 = gradus.max_pool_backward %dy, %i window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x3xf32>, tensor<1x2x3xi32> -> tensor<1x2x6xf32>
    %d = gradus.reduce sum %s3 axes [1] : tensor<1x2x6xf32> -> tensor<1x6xf32>
    gradus.return %a, %b, %c, %d : tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x6xf32>
  }

  // Indices from elsewhere may name no element, and then a sum has less.
  // CHECK-LABEL: gradus.graph @indices
  // CHECK:         %[[SENT:.*]] = gradus.max_pool_backward %dy, %i
  // CHECK:         gradus.reduce sum %[[SENT]] axes [0, 2]
  gradus.graph @indices(%dy: tensor<1x2x3xf32>, %i: tensor<1x2x3xi32>) -> (db: tensor<2xf32>) {
    %dx = gradus.max_pool_backward %dy, %i window [2] strides [2] pads [0] to [0] dilations [1] : tensor<1x2x3xf32>, tensor<1x2x3xi32> -> tensor<1x2x6xf32>
    %db = gradus.reduce sum %dx axes [0, 2] : tensor<1x2x6xf32> -> tensor<2xf32>
    gradus.return %db : tensor<2xf32>
  }
}

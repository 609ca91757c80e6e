// RUN: gradus-opt %s --lower-to-nests --fuse | FileCheck %s --check-prefix=STORED
// RUN: gradus-opt %s --lower-to-nests --fuse=work-twice=24 | FileCheck %s

gradus.program @p {
  // Exponentials of what is in memory, for a sum and beside it: they are stored
  // once, or computed twice where a device does that faster.
  // STORED-LABEL: @softmax
  // STORED: math.exp
  // STORED-NOT: math.exp
  // STORED-LABEL: @often
  // CHECK-LABEL: @softmax
  // CHECK: plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>)
  // CHECK: math.exp
  // CHECK: plan.nest parallel [4, 8] reduced [] with(%x, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>)
  // CHECK: math.exp
  gradus.graph @softmax(%x: tensor<4x8xf32>) -> (y: tensor<4x8xf32>) {
    %0 = math.exp %x : tensor<4x8xf32>
    %1 = gradus.reduce sum %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    %2 = gradus.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
    %3 = arith.divf %0, %2 : tensor<4x8xf32>
    gradus.return %3 : tensor<4x8xf32>
  }

  // Three readers are too many,
  // CHECK-LABEL: @often
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  gradus.graph @often(%x: tensor<4x8xf32>) -> (r: tensor<4xf32>, c: tensor<8xf32>, m: tensor<4xf32>) {
    %0 = math.exp %x : tensor<4x8xf32>
    %1 = gradus.reduce sum %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    %2 = gradus.reduce sum %0 axes [0] : tensor<4x8xf32> -> tensor<8xf32>
    %3 = math.tanh %0 : tensor<4x8xf32>
    %4 = gradus.reduce sum %3 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    gradus.return %1, %2, %4 : tensor<4xf32>, tensor<8xf32>, tensor<4xf32>
  }

  // two tensors are more to keep than the one that is computed of them,
  // CHECK-LABEL: @wide
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  gradus.graph @wide(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> (y: tensor<4x8xf32>) {
    %s = arith.addf %x, %z : tensor<4x8xf32>
    %0 = math.exp %s : tensor<4x8xf32>
    %1 = gradus.reduce sum %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    %2 = gradus.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
    %3 = arith.divf %0, %2 : tensor<4x8xf32>
    gradus.return %3 : tensor<4x8xf32>
  }

  // and numbers of 64 bits too much work.
  // CHECK-LABEL: @doubles
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  gradus.graph @doubles(%x: tensor<4x8xf64>) -> (y: tensor<4x8xf64>) {
    %0 = math.exp %x : tensor<4x8xf64>
    %1 = gradus.reduce sum %0 axes [1] : tensor<4x8xf64> -> tensor<4xf64>
    %2 = gradus.broadcast %1 dims [0] : tensor<4xf64> -> tensor<4x8xf64>
    %3 = arith.divf %0, %2 : tensor<4x8xf64>
    gradus.return %3 : tensor<4x8xf64>
  }
}

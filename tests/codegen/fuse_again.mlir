// RUN: gradus-opt %s --lower-to-nests --fuse | FileCheck %s --check-prefix=STORED
// RUN: gradus-opt %s --lower-to-nests --fuse=cheap-work=24 | FileCheck %s --check-prefix=AGAIN

// Exponentials of what is in memory, for a sum and beside it: they are stored
// once, or computed twice where a device does that faster.
// STORED: math.exp
// STORED-NOT: math.exp
// AGAIN: plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>)
// AGAIN: math.exp
// AGAIN: plan.nest parallel [4, 8] reduced [] with(%x, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>)
// AGAIN: math.exp
gradus.program @p {
  gradus.graph @predict(%x: tensor<4x8xf32>) -> (y: tensor<4x8xf32>) {
    %0 = math.exp %x : tensor<4x8xf32>
    %1 = gradus.reduce sum %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    %2 = gradus.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
    %3 = arith.divf %0, %2 : tensor<4x8xf32>
    gradus.return %3 : tensor<4x8xf32>
  }
}

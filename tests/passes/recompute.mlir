// RUN: gradus-opt %s --recompute="segments=2 recomputed=1" | FileCheck %s
// RUN: gradus-opt %s --recompute="segments=2 recomputed=1" --recompute="segments=2 recomputed=1" | FileCheck %s
// RUN: gradus-opt %s --recompute="segments=2 recomputed=0" | FileCheck %s --check-prefix=NONE
// RUN: gradus-opt %s --recompute="segments=1 recomputed=5" | FileCheck %s --check-prefix=NONE

// NONE-NOT: gradus.after

gradus.program @p {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}

  // What the first segment made is made again from its input and the state,
  // when the gradient is there. What crosses the cut is kept (%1), and the
  // running mean, in the middle of the model, reads the first result.
  // CHECK-LABEL: gradus.graph @train
  // CHECK: %[[P:.*]] = arith.mulf %x, %[[W:.*]] :
  // CHECK: %[[M:.*]] = arith.addf %{{.*}}, %[[P]]
  // CHECK: %[[E:.*]] = math.exp
  // CHECK: math.sin %[[E]]
  // CHECK: %[[G:.*]] = arith.mulf %{{.*}}, %[[E]]
  // CHECK: %[[X:.*]] = gradus.after %x, %[[G]]
  // CHECK: %[[P2:.*]] = arith.mulf %[[X]], %[[W]]
  // CHECK: %[[T2:.*]] = math.tanh %[[P2]]
  // CHECK: arith.mulf %[[G]], %[[T2]]
  // CHECK: gradus.write @mean, %[[M]]
  gradus.graph @train(%x: tensor<4xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4xf32>
    %mean = gradus.read @mean : tensor<4xf32>
    %p = arith.mulf %x, %w : tensor<4xf32>
    %m = arith.addf %mean, %p : tensor<4xf32>
    %0 = math.tanh %p : tensor<4xf32>
    %1 = math.exp %0 : tensor<4xf32>
    %2 = math.sin %1 : tensor<4xf32>
    %3 = gradus.reduce sum %2 axes [0] : tensor<4xf32> -> tensor<f32>
    %4 = math.cos %1 : tensor<4xf32>
    %5 = arith.mulf %4, %1 : tensor<4xf32>
    %6 = arith.mulf %5, %0 : tensor<4xf32>
    %new = arith.subf %w, %6 : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.write @mean, %m : tensor<4xf32>
    gradus.return %3 : tensor<f32>
  }

  // Other graphs keep nothing.
  // CHECK-LABEL: gradus.graph @predict
  // CHECK-NOT: gradus.after
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %0 = math.tanh %x : tensor<4xf32>
    gradus.return %0 : tensor<4xf32>
  }
}

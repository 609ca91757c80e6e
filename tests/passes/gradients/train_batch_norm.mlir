// RUN: gradus-opt %s --train-batch-norm | FileCheck %s
// RUN: gradus-opt %s --train-batch-norm --train-batch-norm | FileCheck %s

// @train normalizes by the batch and keeps the running statistics, with the
// variance divided by N - 1; other graphs use them.
// CHECK-LABEL: gradus.program @two_graphs
// CHECK:         gradus.graph @train
// CHECK:           %[[Y:.*]], %[[MEAN:.*]], %[[VARIANCE:.*]] = gradus.batch_norm_training %x, %scale, %bias epsilon 1.0
// CHECK:           %[[SHARE:.*]] = arith.constant dense<2.500000e-01>
// CHECK:           arith.mulf %[[MEAN]], %[[SHARE]]
// CHECK:           %[[UNBIASED:.*]] = arith.constant dense<0.285714298>
// CHECK:           arith.mulf %[[VARIANCE]], %[[UNBIASED]]
// CHECK:           gradus.write @mean
// CHECK:           gradus.write @variance
// CHECK:           gradus.return %[[Y]]
// CHECK:         gradus.graph @evaluate
// CHECK:           gradus.batch_norm %
// CHECK-NOT:       gradus.write
gradus.program @two_graphs {
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @train(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %mean = gradus.read @mean : tensor<4xf32>
    %variance = gradus.read @variance : tensor<4xf32>
    %y = gradus.batch_norm %x, %scale, %bias mean %mean variance %variance epsilon 1.0e-5 momentum 0.75 : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
  gradus.graph @evaluate(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %mean = gradus.read @mean : tensor<4xf32>
    %variance = gradus.read @variance : tensor<4xf32>
    %y = gradus.batch_norm %x, %scale, %bias mean %mean variance %variance epsilon 1.0e-5 momentum 0.75 : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// ONNX divides the running variance by N, as the batch's.
// CHECK-LABEL: gradus.program @by_n
// CHECK-NOT:     dense<0.285714298>
// CHECK:         gradus.batch_norm_training
// CHECK-NOT:     dense<0.285714298>
gradus.program @by_n attributes {recipe = {batch_norm_variance = "onnx"}} {
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @train(%x: tensor<8x4xf32>, %scale: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %mean = gradus.read @mean : tensor<4xf32>
    %variance = gradus.read @variance : tensor<4xf32>
    %y = gradus.batch_norm %x, %scale, %scale mean %mean variance %variance epsilon 1.0e-5 momentum 0.75 : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// A state that two ops keep is written once, by way of the first.
// CHECK-LABEL: gradus.program @shared
// CHECK:         %[[OLD:.*]] = gradus.read @statistics
// CHECK:         gradus.batch_norm_training
// CHECK:         gradus.batch_norm_training
// CHECK:         gradus.write @statistics, %[[NEW:.*]] :
// CHECK-NOT:     gradus.write
gradus.program @shared {
  gradus.state @statistics : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x4xf32>, %scale: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %old = gradus.read @statistics : tensor<4xf32>
    %1 = gradus.batch_norm %x, %scale, %scale mean %old variance %old epsilon 1.0e-5 momentum 0.75 : tensor<8x4xf32>, tensor<4xf32>
    %2 = gradus.batch_norm %1, %scale, %scale mean %old variance %old epsilon 1.0e-5 momentum 0.75 : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %2 : tensor<8x4xf32>
  }
}

// Without momentum, or with the recipe's `freeze_batch_norm`, nothing changes.
// CHECK-LABEL: gradus.program @frozen
// CHECK-COUNT-2: gradus.batch_norm %
// CHECK-NOT:     gradus.write
gradus.program @frozen attributes {recipe = {freeze_batch_norm = true}} {
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x4xf32>, %scale: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %mean = gradus.read @mean : tensor<4xf32>
    %1 = gradus.batch_norm %x, %scale, %scale mean %mean variance %mean epsilon 1.0e-5 momentum 0.75 : tensor<8x4xf32>, tensor<4xf32>
    %2 = gradus.batch_norm %1, %scale, %scale mean %mean variance %mean epsilon 1.0e-5 : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %2 : tensor<8x4xf32>
  }
}

// RUN: gradus-opt %s --training-step --canonicalize | FileCheck %s
// Their numbers are compared with PyTorch's in tests/end_to_end/losses_test.cpp.

// Cross entropy is one op, unless classes have weights; then the mean divides
// by the weights of the labels.
// CHECK-LABEL: gradus.program @weighted
// CHECK:         gradus.graph @train
// CHECK-DAG:       %[[LOGS:.*]] = gradus.softmax log %x axis 1
// CHECK-DAG:       %[[COUNTED:.*]] = arith.cmpi ne, %label
// CHECK:           %[[WEIGHTS:.*]] = arith.select %[[COUNTED]]
// CHECK:           %[[INSIDE:.*]] = arith.select %[[COUNTED]]
// CHECK:           arith.mulf %{{.*}}, %[[INSIDE]] : tensor<2xf32>
// CHECK:           %[[OF:.*]] = arith.select %[[COUNTED]]
// CHECK:           %[[EACH:.*]] = arith.mulf %[[OF]]
// CHECK:           %[[SUM:.*]] = gradus.reduce sum %[[EACH]] axes [0] : tensor<2xf32> -> tensor<f32>
// CHECK:           %[[WEIGHT:.*]] = gradus.reduce sum %[[WEIGHTS]] axes [0] : tensor<2xf32> -> tensor<f32>
// CHECK:           arith.divf %[[SUM]], %[[WEIGHT]]
gradus.program @weighted attributes {recipe = {loss = {type = "softmax_cross_entropy", class_weights = [1.0, 2.0, 0.5]}}} {
  gradus.graph @predict(%x: tensor<2x3xf32>) -> (y: tensor<2x3xf32>) {
    gradus.return %x : tensor<2x3xf32>
  }
}

// What is narrower than f32 is computed in f32.
// CHECK-LABEL: gradus.program @narrow
// CHECK:         gradus.graph @train(%x: tensor<4xbf16>, %label: tensor<4xbf16>) -> (loss: tensor<bf16>) {
// CHECK-DAG:       %[[X:.*]] = arith.extf %x
// CHECK-DAG:       %[[T:.*]] = arith.extf %label
// CHECK:           arith.subf %[[X]], %[[T]] : tensor<4xf32>
// CHECK:           %[[LOSS:.*]] = arith.divf
// CHECK:           arith.truncf %[[LOSS]] : tensor<f32> to tensor<bf16>
gradus.program @narrow attributes {recipe = {loss = {type = "l1"}}} {
  gradus.graph @predict(%x: tensor<4xbf16>) -> (y: tensor<4xbf16>) {
    gradus.return %x : tensor<4xbf16>
  }
}

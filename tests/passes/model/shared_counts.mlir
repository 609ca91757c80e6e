// RUN: gradus-opt %s --training-step --split-input-file | FileCheck %s
// RUN: gradus-opt %s --training-step --training-step --split-input-file | FileCheck %s

// A mean that the model computes over a mask divides by the mean over ranks of
// what counts, also where it is bounded from below; so does a mean of each
// element. Evaluation is of one process.
// CHECK-LABEL: @masked
gradus.program @masked attributes {recipe = {loss = {type = "output", output = "loss"}, distribution = {mode = "data_parallel"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<4xf32>, %mask: tensor<4xi64>) -> (loss: tensor<f32>, other: tensor<4xf32>) {
    %w = gradus.read @w : tensor<4xf32>
    %m = arith.sitofp %mask : tensor<4xi64> to tensor<4xf32>
    %y = arith.mulf %x, %w : tensor<4xf32>
    %z = arith.mulf %y, %m : tensor<4xf32>
    %one = arith.constant dense<1.0> : tensor<f32>
    %total = gradus.reduce sum %z axes [0] : tensor<4xf32> -> tensor<f32>
    %count = gradus.reduce sum %m axes [0] : tensor<4xf32> -> tensor<f32>
    %some = arith.maximumf %count, %one : tensor<f32>
    %loss = arith.divf %total, %some : tensor<f32>
    %each = gradus.broadcast %count dims [] : tensor<f32> -> tensor<4xf32>
    %other = arith.divf %y, %each : tensor<4xf32>
    gradus.return %loss, %other : tensor<f32>, tensor<4xf32>
  }
  // CHECK: gradus.graph @train
  // CHECK: gradus.reduce sum
  // CHECK-NEXT: %[[COUNT:.*]] = gradus.reduce sum %{{.*}} axes [0]
  // CHECK-NEXT: %[[ALL:.*]] = gradus.all_reduce %[[COUNT]] : tensor<f32> -> tensor<f32>
  // CHECK: %[[MEAN:.*]] = arith.divf %[[ALL]]
  // CHECK: %[[SOME:.*]] = arith.maximumf %[[MEAN]]
  // CHECK: arith.divf %{{.*}}, %[[SOME]] : tensor<f32>
  // CHECK: gradus.broadcast %[[MEAN]]
  // CHECK-NOT: gradus.all_reduce
  // CHECK: gradus.graph @evaluate
  // CHECK-NOT: gradus.all_reduce
}

// -----

// What depends on a weight, is no sum, or is of each sample stays.
// CHECK-LABEL: @others
// CHECK-NOT: gradus.all_reduce
gradus.program @others attributes {recipe = {loss = {type = "output", output = "loss"}, distribution = {mode = "data_parallel"}}} {
  gradus.state @w : tensor<4x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<4x2xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4x2xf32>
    %y = arith.mulf %x, %w : tensor<4x2xf32>
    %weights = gradus.reduce sum %y axes [0, 1] : tensor<4x2xf32> -> tensor<f32>
    %largest = gradus.reduce max %x axes [0, 1] : tensor<4x2xf32> -> tensor<f32>
    %a = arith.divf %weights, %largest : tensor<f32>
    %b = arith.divf %a, %weights : tensor<f32>
    %each = gradus.reduce sum %x axes [1] : tensor<4x2xf32> -> tensor<4xf32>
    %rows = gradus.broadcast %each dims [0] : tensor<4xf32> -> tensor<4x2xf32>
    %c = arith.divf %y, %rows : tensor<4x2xf32>
    %d = gradus.reduce sum %c axes [0, 1] : tensor<4x2xf32> -> tensor<f32>
    %loss = arith.addf %b, %d : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// Each rank's own mean.
// CHECK-LABEL: @own
// CHECK-NOT: gradus.all_reduce
gradus.program @own attributes {recipe = {loss = {type = "output"}, distribution = {mode = "data_parallel", loss_mean = "rank"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<4xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4xf32>
    %y = arith.mulf %x, %w : tensor<4xf32>
    %total = gradus.reduce sum %y axes [0] : tensor<4xf32> -> tensor<f32>
    %count = gradus.reduce sum %x axes [0] : tensor<4xf32> -> tensor<f32>
    %loss = arith.divf %total, %count : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// RUN: gradus-opt %s --bucket-collectives --split-input-file | FileCheck %s

// A factor that is a sum of all ranks leaves the other sum, with a number on the way. What is
// summed twice is summed once.
// CHECK-LABEL: @factor
gradus.program @factor attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 2 : i64}}} {
  // CHECK: gradus.graph @train(%x: tensor<f32>, %n: tensor<f32>)
  // CHECK: %[[SUMS:.*]]:2 = gradus.all_reduce %n, %x :
  // CHECK: %[[HALF:.*]] = arith.constant dense<5.0
  // CHECK: %[[FIRST:.*]] = arith.mulf %[[SUMS]]#1, %[[SUMS]]#0
  // CHECK: %[[BOTH:.*]] = arith.mulf %[[FIRST]], %[[HALF]]
  // CHECK: gradus.return %[[BOTH]], %[[SUMS]]#0
  gradus.graph @train(%x: tensor<f32>, %n: tensor<f32>) -> (loss: tensor<f32>, count: tensor<f32>) {
    %half = arith.constant dense<0.5> : tensor<f32>
    %all = gradus.all_reduce %n : tensor<f32> -> tensor<f32>
    %again = gradus.all_reduce %n : tensor<f32> -> tensor<f32>
    %product = arith.mulf %all, %x : tensor<f32>
    %scaled = arith.mulf %product, %half : tensor<f32>
    %loss = gradus.all_reduce %scaled : tensor<f32> -> tensor<f32>
    gradus.return %loss, %again : tensor<f32>, tensor<f32>
  }
}

// -----

// What is each rank's own stays, and so does what needs no other sum. Without logical ranks nothing moves.
// CHECK-LABEL: @stays
gradus.program @stays attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 2 : i64}}} {
  // CHECK: %[[A:.*]] = arith.mulf %x, %n
  // CHECK: %[[B:.*]] = arith.mulf %x, %{{.*}}
  // CHECK: gradus.all_reduce %[[A]], %[[B]]
  gradus.graph @train(%x: tensor<f32>, %n: tensor<f32>) -> (a: tensor<f32>, b: tensor<f32>) {
    %half = arith.constant dense<0.5> : tensor<f32>
    %own = arith.mulf %x, %n : tensor<f32>
    %a = gradus.all_reduce %own : tensor<f32> -> tensor<f32>
    %scaled = arith.mulf %x, %half : tensor<f32>
    %b = gradus.all_reduce %scaled : tensor<f32> -> tensor<f32>
    gradus.return %a, %b : tensor<f32>, tensor<f32>
  }
}

// RUN: gradus-opt %s --data-parallel --cse --split-input-file | FileCheck %s
// RUN: gradus-opt %s --data-parallel --data-parallel --cse --split-input-file | FileCheck %s

// Samples are counted on from those of the ranks before, element by element;
// also where several rows belong to a sample, and for what the model draws.
// CHECK-LABEL: @samples
gradus.program @samples attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<3x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<2x3xf32>, %label: tensor<2xi64>) -> (y: tensor<2x4xf32>, mask: tensor<6xi64>, one: tensor<i64>) {
    // CHECK: %[[RANK:.*]] = gradus.read @distribution.rank :
    // CHECK: %[[SIX:.*]] = arith.muli %[[RANK]], %{{.*}} : tensor<i64>
    %step = gradus.read @step : tensor<i64>
    // CHECK: gradus.random_bits %{{.*}} from %[[SIX]] stream 0 seed 1 : tensor<6xi64>
    %rows = gradus.random_bits %step stream 0 seed 1 : tensor<6xi64>
    // CHECK: gradus.random_bits %{{.*}} from %[[SIX]] stream 1 seed 1 : tensor<2x3xi64>
    %latent = gradus.random_bits %step stream 1 seed 1 : tensor<2x3xi64>
    %z = arith.sitofp %latent : tensor<2x3xi64> to tensor<2x3xf32>
    %w = gradus.read @w : tensor<3x4xf32>
    %y = gradus.matmul %z, %w : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
    // One number for the whole batch is the same on every rank.
    // CHECK: gradus.random_bits %{{.*}} stream 2 seed 1 : tensor<i64>
    %one = gradus.random_bits %step stream 2 seed 1 : tensor<i64>
    gradus.return %y, %rows, %one : tensor<2x4xf32>, tensor<6xi64>, tensor<i64>
  }
}

// -----

// What is drawn for weights is drawn alike on every rank: the first axis does not
// count samples, or the numbers meet a weight.
// CHECK-LABEL: @weights
gradus.program @weights attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<2x4xf32>) -> (y: tensor<2x3xf32>, odd: tensor<5xi64>) {
    %step = gradus.read @step : tensor<i64>
    // CHECK: gradus.random_bits %{{.*}} stream 0 seed 1 : tensor<5xi64>
    %odd = gradus.random_bits %step stream 0 seed 1 : tensor<5xi64>
    // CHECK: gradus.random_bits %{{.*}} stream 1 seed 1 : tensor<4x3xi64>
    %bits = gradus.random_bits %step stream 1 seed 1 : tensor<4x3xi64>
    %noise = arith.sitofp %bits : tensor<4x3xi64> to tensor<4x3xf32>
    %w = gradus.read @w : tensor<4x3xf32>
    %noisy = arith.addf %w, %noise : tensor<4x3xf32>
    %y = gradus.matmul %x, %noisy : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
    gradus.return %y, %odd : tensor<2x3xf32>, tensor<5xi64>
  }
}

// -----

// Attention draws for its scores, forward and backward.
// CHECK-LABEL: @attention
gradus.program @attention attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%q: tensor<2x2x3x4xf32>, %g: tensor<2x2x3x4xf32>, %d: tensor<2x2x3xf32>) -> (y: tensor<2x2x3x4xf32>, dq: tensor<2x2x3x4xf32>) {
    %step = gradus.read @step : tensor<i64>
    // CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[COUNT:.*]] : tensor<i64>
    // CHECK: gradus.attention %q, %q, %q step %{{.*}} from %[[FIRST]]
    %y, %l:2 = gradus.attention %q, %q, %q step %step {scale = 0.5 : f64, dropout = 0.25 : f64} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<i64>) -> (tensor<2x2x3x4xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)
    // CHECK: gradus.attention_backward {{.*}} from %[[FIRST]]
    %dq, %dk, %dv = gradus.attention_backward %q, %q, %q, %l#0, %l#1, %g, %d step %step {scale = 0.5 : f64, dropout = 0.25 : f64} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3xf32>, tensor<i64>) -> (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>)
    gradus.return %y, %dq : tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>
  }
}

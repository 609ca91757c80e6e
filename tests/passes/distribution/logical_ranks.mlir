// RUN: gradus-opt %s --logical-ranks --split-input-file | FileCheck %s
// RUN: gradus-opt %s --logical-ranks --logical-ranks --split-input-file | FileCheck %s

// Four logical ranks: two levels of sums wait. What only a last turn does, it alone has.
// CHECK-LABEL: @four
gradus.program @four attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 4 : i64}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.state @distribution.turn : tensor<i64>
  // CHECK: gradus.state @distribution.rank : tensor<i64>
  // CHECK: gradus.state @"logical_ranks/0/w" : tensor<4xf32> {differs_along = ["data"], init = #gradus.init<zeros>, role = #gradus.role<scratch>}
  // CHECK: gradus.state @"logical_ranks/1/w" : tensor<4xf32>
  // CHECK: gradus.state @"logical_ranks/0/sum1" : tensor<i64>
  // CHECK: gradus.state @"logical_ranks/1/sum1" : tensor<i64>
  // CHECK: gradus.graph @train(
  // CHECK: %[[OWN:.*]] = gradus.all_reduce %g along "turn"
  // CHECK: gradus.all_reduce %[[OWN]] {of = ["w"]}
  // CHECK-NOT: logical_ranks
  // CHECK: gradus.graph @train_partial_0(%g: tensor<4xf32>, %n: tensor<i64>) -> (count: tensor<i64>)
  // CHECK-NOT: of =
  // CHECK-NOT: @w
  // CHECK: %[[OWN:.*]] = gradus.all_reduce %g along "turn"
  // CHECK-NOT: gradus.all_reduce %[[OWN]]
  // CHECK: gradus.write @"logical_ranks/0/w", %[[OWN]]
  // CHECK: gradus.write @distribution.turn
  // CHECK: gradus.write @distribution.rank
  // CHECK: gradus.return %{{.*}} : tensor<i64>
  // CHECK: gradus.graph @train_partial_1
  // CHECK: %[[OLD:.*]] = gradus.read @"logical_ranks/0/w"
  // CHECK: %[[TWO:.*]] = arith.addf %[[OLD]], %
  // CHECK: gradus.write @"logical_ranks/1/w", %[[TWO]]
  // CHECK: gradus.graph @train_final_1
  // CHECK: %[[OLD:.*]] = gradus.read @"logical_ranks/0/w"
  // CHECK: %[[TWO:.*]] = arith.addf %[[OLD]], %
  // CHECK: gradus.all_reduce %[[TWO]] {of = ["w"]}
  // CHECK: gradus.write @w
  // CHECK: gradus.graph @train_final_2
  // CHECK: %[[FIRST:.*]] = gradus.read @"logical_ranks/0/w"
  // CHECK: %[[TWO:.*]] = arith.addf %[[FIRST]], %
  // CHECK: %[[SECOND:.*]] = gradus.read @"logical_ranks/1/w"
  // CHECK: %[[FOUR:.*]] = arith.addf %[[SECOND]], %[[TWO]]
  // CHECK: gradus.all_reduce %[[FOUR]] {of = ["w"]}
  // CHECK: arith.addi
  // CHECK: gradus.schedule @train by @distribution.turn {
  // CHECK: gradus.variant @train_partial_0 every 2 at 1
  // CHECK: gradus.variant @train_partial_1 every 4
  // CHECK: gradus.variant @train every 8
  // CHECK: gradus.variant @train_final_1 every 8 at 2
  // CHECK: gradus.variant @train_final_2 every 8 at 6
  gradus.graph @train(%g: tensor<4xf32>, %n: tensor<i64>) -> (count: tensor<i64>) {
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
    gradus.write @w, %sum : tensor<4xf32>
    %count = gradus.all_reduce %n : tensor<i64> -> tensor<i64>
    gradus.return %count : tensor<i64>
  }
}

// -----

// A bucket has one border. Each of its operands waits in states of its own, also where names are the same.
// CHECK-LABEL: @bucket
gradus.program @bucket attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 2 : i64}}} {
  gradus.state @sum1 : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.state @"logical_ranks/0/sum1" : tensor<4xf32>
  // CHECK: gradus.state @"logical_ranks/0/sum1+" : tensor<f32>
  // CHECK: gradus.graph @train(
  // CHECK: %[[OWN:.*]]:2 = gradus.all_reduce %g, %l along "turn"
  // CHECK: gradus.all_reduce %[[OWN]]#0, %[[OWN]]#1 {of = ["sum1", ""]}
  // CHECK: gradus.graph @train_partial_0
  // CHECK: gradus.write @"logical_ranks/0/sum1", %[[OWN:.*]]#0
  // CHECK: gradus.write @"logical_ranks/0/sum1+", %[[OWN]]#1
  // CHECK: gradus.graph @train_final_1
  // CHECK: %[[W:.*]] = arith.addf %{{.*}}, %[[OWN:.*]]#0
  // CHECK: %[[L:.*]] = arith.addf %{{.*}}, %[[OWN]]#1
  // CHECK: gradus.all_reduce %[[W]], %[[L]]
  gradus.graph @train(%g: tensor<4xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    %sum, %loss = gradus.all_reduce %g, %l {of = ["sum1", ""]} : tensor<4xf32>, tensor<f32> -> tensor<4xf32>, tensor<f32>
    gradus.write @sum1, %sum : tensor<4xf32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// One logical rank is one process, and without the key nothing changes.
// CHECK-LABEL: @one
gradus.program @one attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 1 : i64}}} {
  // CHECK-NOT: partial
  // CHECK-NOT: schedule
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %loss = gradus.all_reduce %x : tensor<f32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// RUN: gradus-opt %s --data-parallel --split-input-file | FileCheck %s
// RUN: gradus-opt %s --data-parallel --data-parallel --split-input-file | FileCheck %s

// The gradient's mean over ranks, and a guard that holds on all of them or on none.
// CHECK-LABEL: @guarded
gradus.program @guarded attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  // CHECK: gradus.state @distribution.ranks : tensor<i64> {init = #gradus.init<constant, 1.000000e+00 : f64>, role = #gradus.role<place>}
  gradus.graph @train(%g: tensor<4xf32>, %finite: tensor<i1>) -> (loss: tensor<f32>, kept: tensor<i1>) {
    // CHECK: %[[VETO:.*]] = arith.select %finite
    // CHECK: %[[VETOES:.*]] = gradus.all_reduce %[[VETO]] : tensor<f32>
    // CHECK: %[[ALL:.*]] = arith.cmpf oeq, %[[VETOES]]
    // CHECK: gradus.read @distribution.ranks
    // CHECK: gradus.guard %[[ALL]]
    gradus.guard %finite always [@step]
    // CHECK: %[[SUM:.*]] = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32>
    // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]]
    // CHECK: gradus.update @w, %[[MEAN]]
    gradus.update @w, %g : tensor<4xf32>
    %loss = gradus.reduce sum %g axes [0] : tensor<4xf32> -> tensor<f32>
    // CHECK: %[[TOTAL:.*]] = gradus.all_reduce %{{.*}} : tensor<f32>
    // CHECK: %[[LOSS:.*]] = arith.divf %[[TOTAL]]
    // CHECK: gradus.return %[[LOSS]], %[[ALL]]
    gradus.return %loss, %finite : tensor<f32>, tensor<i1>
  }
}

// -----

// Sums of gradients, each rank's bounded first; statistics of the first rank.
// CHECK-LABEL: @sums
gradus.program @sums attributes {recipe = {distribution = {mode = "data_parallel", mean = false, local_clip = 2.0, batch_norm = "local"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @m : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train(%g: tensor<4xf32>) attributes {gradus.shared} {
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK: %[[LIMIT:.*]] = gradus.read @distribution.local_clip : tensor<f64>
    // CHECK: %[[LOW:.*]] = arith.maximumf %g
    // CHECK: %[[OWN:.*]] = arith.minimumf %[[LOW]]
    // CHECK-NEXT: %[[SUM:.*]] = gradus.all_reduce %[[OWN]] {of = ["w"]}
    // CHECK-NEXT: gradus.update @w, %[[SUM]]
    gradus.update @w, %g : tensor<4xf32>
    // CHECK: %[[RANK:.*]] = gradus.read @distribution.rank :
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]]
    // CHECK: gradus.broadcast %[[FIRST]]
    // CHECK: %[[OWN:.*]] = arith.select
    // CHECK: %[[FIRSTS:.*]] = gradus.all_reduce %[[OWN]]
    // CHECK: gradus.write @m, %[[FIRSTS]]
    gradus.write @m, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// Running statistics are averaged by default, and left alone where they are of the
// samples of all. A step that only adds gradients up shares none.
// CHECK-LABEL: @statistics
gradus.program @statistics attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @m : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @sum : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train_accumulate(%g: tensor<4xf32>) -> () {
    // CHECK: %[[SUM:.*]] = gradus.all_reduce %g : tensor<4xf32>
    // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]]
    // CHECK: gradus.write @m, %[[MEAN]]
    gradus.write @m, %g : tensor<4xf32>
    // CHECK: gradus.write @sum, %g
    gradus.write @sum, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// CHECK-LABEL: @synchronized
// CHECK: gradus.write @m, %g
gradus.program @synchronized attributes {recipe = {distribution = {mode = "data_parallel", batch_norm = "synchronized"}}} {
  gradus.state @m : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.write @m, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// One process shares nothing.
// CHECK-LABEL: @alone
// CHECK-NOT: gradus.all_reduce
gradus.program @alone {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

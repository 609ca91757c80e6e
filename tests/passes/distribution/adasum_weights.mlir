// RUN: gradus-opt %s --split-input-file --adasum-weights --check-ranks | FileCheck %s
// RUN: gradus-opt %s --split-input-file --adasum-weights --adasum-weights --check-ranks | FileCheck %s

// A parameter moves by the combined change; what an optimizer remembers of a
// rank's samples becomes the mean, and a count stays.
// CHECK-LABEL: @momentum
gradus.program @momentum attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @m : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK-DAG: %[[RANKS:.*]] = gradus.read @distribution.ranks
    // CHECK-DAG: %[[W:.*]] = gradus.read @w
    // CHECK-DAG: %[[NEW:.*]] = arith.subf %{{.*}}, %[[M:.*]] : tensor<4xf32>
    // CHECK-DAG: %[[M]] = arith.addf
    // CHECK-DAG: %[[TOTAL:.*]] = gradus.all_reduce %[[M]] : tensor<4xf32>
    // CHECK-DAG: %[[MEAN:.*]] = arith.divf %[[TOTAL]]
    // CHECK-DAG: %[[CHANGE:.*]] = arith.subf %{{.*}}, %[[NEW]]
    // CHECK-DAG: %[[ALL:.*]] = gradus.all_reduce %[[CHANGE]] {groups = #gradus.groups<within 1 mean across adasum epsilon 0.000000e+00 : f64>, of = ["w"]}
    // CHECK-DAG: %[[MOVED:.*]] = arith.subf %{{.*}}, %[[ALL]]
    // CHECK-DAG: gradus.write @m, %[[MEAN]]
    // CHECK-DAG: gradus.write @w, %[[MOVED]]
    // CHECK-DAG: gradus.write @step, %{{.*}} : tensor<i64>
    %w = gradus.read @w : tensor<4xf32>
    %m = gradus.read @m : tensor<4xf32>
    %step = gradus.read @step : tensor<i64>
    %one = arith.constant dense<1> : tensor<i64>
    %next = arith.addi %step, %one : tensor<i64>
    %sum = arith.addf %m, %g : tensor<4xf32>
    %new = arith.subf %w, %sum : tensor<4xf32>
    gradus.write @m, %sum : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.write @step, %next : tensor<i64>
    gradus.return
  }
}

// -----

// The ranks of a group have made the same update, of their gradients' sum as of
// their mean: its mean is what it was.
// CHECK-LABEL: @sums
gradus.program @sums attributes {recipe = {distribution = {mode = "data_parallel", mean = false, reduce = "adasum", adasum = {of = "weights", within = 2 : i64}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK: gradus.all_reduce %{{.*}} {groups = #gradus.groups<within 2 mean across adasum epsilon 0.000000e+00 : f64>, of = ["w"]}
    %w = gradus.read @w : tensor<4xf32>
    %new = arith.subf %w, %g : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// -----

// What is made of the written parameter, as the mean of asgd, follows the one
// that all ranks have, and is not shared again.
// CHECK-LABEL: @average
gradus.program @average attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK-NOT: gradus.all_reduce
    // CHECK: %[[ALL:.*]] = gradus.all_reduce %{{.*}} {groups
    // CHECK-NOT: gradus.all_reduce
    // CHECK: %[[MOVED:.*]] = arith.subf %{{.*}}, %[[ALL]]
    // CHECK-NOT: gradus.all_reduce
    // CHECK-DAG: %[[MEAN:.*]] = arith.maximumf %{{.*}}, %[[MOVED]]
    // CHECK-DAG: gradus.write @w, %[[MOVED]]
    // CHECK-DAG: gradus.write @mean, %[[MEAN]]
    // CHECK-NOT: gradus.all_reduce
    // CHECK: gradus.return
    %w = gradus.read @w : tensor<4xf32>
    %mean = gradus.read @mean : tensor<4xf32>
    %new = arith.subf %w, %g : tensor<4xf32>
    %next = arith.maximumf %mean, %new : tensor<4xf32>
    gradus.write @mean, %next : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// -----

// A change that follows from another parameter's own update still does.
// CHECK-LABEL: @chain
gradus.program @chain attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights", per = "model"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK: %[[NEW:.*]] = arith.subf %{{.*}}, %g
    // CHECK: arith.maximumf %{{.*}}, %[[NEW]]
    // CHECK: gradus.all_reduce %{{.*}}, %{{.*}} {groups
    %w = gradus.read @w : tensor<4xf32>
    %v = gradus.read @v : tensor<4xf32>
    %new = arith.subf %w, %g : tensor<4xf32>
    %next = arith.maximumf %v, %new : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.write @v, %next : tensor<4xf32>
    gradus.return
  }
}

// -----

// A slot that each rank has for itself, as a gradient that waits, stays so.
// CHECK-LABEL: @own
gradus.program @own attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @waiting : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>, differs_along = ["data"]}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK: gradus.write @waiting, %g
    %w = gradus.read @w : tensor<4xf32>
    %new = arith.subf %w, %g : tensor<4xf32>
    gradus.write @waiting, %g : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --loss-scale --canonicalize --cse | FileCheck %s

// A power of two is taken off exactly, and one number says whether all are finite.
// CHECK-LABEL: gradus.program @static
// CHECK:         gradus.state @skipped_steps
// CHECK:         gradus.state @step
// CHECK-NOT:     gradus.state @loss_scale
// CHECK-DAG:     %[[EIGHTH:.*]] = arith.constant dense<1.250000e-01> : tensor<4xf32>
// CHECK:         %[[ZEROS:.*]] = arith.mulf %g, %{{.*}}
// CHECK:         %[[SUM:.*]] = gradus.reduce sum %[[ZEROS]] axes [0]
// CHECK:         %[[FINITE:.*]] = arith.cmpf oeq, %[[SUM]], %{{.*}}
// CHECK:         %[[TRUE:.*]] = arith.mulf %g, %[[EIGHTH]]
// CHECK:         gradus.guard %[[FINITE]] always [@step, @skipped_steps]
// CHECK:         gradus.update @w, %[[TRUE]]
gradus.program @static attributes {recipe = {loss_scale = {type = "static", initial = 8.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// A dynamic one is a state that changes in any case.
// CHECK-LABEL: gradus.program @dynamic
// CHECK-DAG:     gradus.state @loss_scale : tensor<f32> {init = #gradus.init<constant, 1.600000e+01 : f64>, role = #gradus.role<hyperparameter>}
// CHECK-DAG:     gradus.state @loss_scale_good_steps : tensor<i64>
// CHECK:         gradus.write @loss_scale_good_steps
// CHECK:         gradus.write @loss_scale
// CHECK:         gradus.guard %{{.*}} always [@step, @skipped_steps, @loss_scale_good_steps, @loss_scale]
gradus.program @dynamic attributes {recipe = {loss_scale = {type = "dynamic", initial = 16.0, growth_interval = 2 : i64}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// The guard stands alone where steps without numbers are to be skipped.
// CHECK-LABEL: gradus.program @skip
// CHECK:         gradus.guard
// CHECK:         gradus.update @w, %g
gradus.program @skip attributes {recipe = {on_nonfinite = "skip"}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Each group's gradients are divided by its own scale, which follows from them
// alone where they pass no border.
// CHECK-LABEL: gradus.program @groups
// CHECK-DAG:     %[[CLEAN0:.*]] = arith.cmpf oeq, %[[G:.*]], %{{.*}}
// CHECK-DAG:     %[[G]] = arith.mulf %g, %{{.*}}
// CHECK-DAG:     %[[CLEAN1:.*]] = arith.cmpf oeq, %[[H:.*]], %{{.*}}
// CHECK-DAG:     %[[H]] = arith.mulf %h, %{{.*}}
// CHECK:         arith.andi %[[CLEAN0]], %[[CLEAN1]]
// CHECK:         %[[NEXT0:.*]] = arith.select %[[CLEAN0]]
// CHECK:         gradus.write @"loss_scale/0", %[[NEXT0]]
// CHECK:         %[[NEXT1:.*]] = arith.select %[[CLEAN1]]
// CHECK:         gradus.write @"loss_scale/1", %[[NEXT1]]
// CHECK:         gradus.guard %[[CLEAN0]] always [@step, @skipped_steps, @"loss_scale/0", @"loss_scale/1"]
// CHECK:         gradus.guard %[[CLEAN1]] always [@step, @skipped_steps, @"loss_scale/0", @"loss_scale/1"]
// CHECK:         gradus.update @w,
gradus.program @groups attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>, %h: tensor<f32>) -> () {
    gradus.update @v, %g : tensor<f32>
    gradus.update @w, %h : tensor<f32>
    gradus.return
  }
}

// Second moments of gradients have the square of the parameter's own scale.
// CHECK-LABEL: gradus.program @curvature
// CHECK-DAG:     %[[S1:.*]] = gradus.read @"loss_scale/1"
// CHECK-DAG:     %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[S1]]
// CHECK:         %[[SQUARE:.*]] = arith.mulf %[[INVERSE]], %[[INVERSE]]
// CHECK:         %[[SPREAD:.*]] = gradus.broadcast %[[SQUARE]] dims [] : tensor<f32> -> tensor<1x2x2xf32>
// CHECK:         %[[TRUE:.*]] = arith.mulf %g, %[[SPREAD]]
// CHECK:         gradus.factors @w inputs %a outputs %[[TRUE]]
gradus.program @curvature attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]]}, precondition = {type = "thor"}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

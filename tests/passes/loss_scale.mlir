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

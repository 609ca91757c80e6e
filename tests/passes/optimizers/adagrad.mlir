// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// The sum of squares may start above zero, and the rate falls with the step.
// CHECK-LABEL: gradus.program @adagrad
// CHECK-DAG:     gradus.state @"adagrad/sum_of_squares/w" : tensor<4xf32> {init = #gradus.init<constant, 5.000000e-01 : f64>, role = #gradus.role<slot>}
// CHECK:         arith.divf %{{.*}}, %{{.*}} : tensor<f64>
gradus.program @adagrad attributes {recipe = {settable = false, optimizer = {type = "adagrad", initial_accumulator = 0.5, learning_rate_decay = 0.1}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// MindSpore's divides by the root alone.
// CHECK-LABEL: gradus.program @mindspore
// CHECK:         %[[ROOT:.*]] = math.sqrt
// CHECK-NEXT:    arith.divf %g, %[[ROOT]]
gradus.program @mindspore attributes {recipe = {settable = false, compat = "mindspore", optimizer = {type = "adagrad"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

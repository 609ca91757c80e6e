// RUN: gradus-opt %s --expand-optimizer | FileCheck %s

// What a pass adds follows the model's own states: a counter and a slot, zeros at first.
// CHECK-LABEL: gradus.program @added
// CHECK:         gradus.state @w
// CHECK-NEXT:    gradus.state @step : tensor<i64> {init = #gradus.init<zeros>, role = #gradus.role<counter>}
// CHECK-NEXT:    gradus.state @"sgd/momentum/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
gradus.program @added attributes {recipe = {settable = false, optimizer = {type = "sgd", momentum = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// A counter that is there already is the one that counts.
// CHECK-LABEL: gradus.program @there_already
// CHECK-COUNT-1: gradus.state @step
// CHECK-NOT:     gradus.state @step
gradus.program @there_already attributes {recipe = {settable = false, optimizer = {type = "sgd"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

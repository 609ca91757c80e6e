// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// The gradient is scaled by a ratio of norms, then moves as sgd's.
// CHECK-LABEL: gradus.program @lars
// CHECK-DAG:     gradus.state @"lars/momentum/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-COUNT-2: gradus.reduce sum
// CHECK:         gradus.write @"lars/momentum/w"
gradus.program @lars attributes {recipe = {settable = false, optimizer = {type = "lars", momentum = 0.5, weight_decay = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

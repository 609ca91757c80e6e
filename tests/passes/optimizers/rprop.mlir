// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Step sizes start at the learning rate.
// CHECK-LABEL: gradus.program @rprop
// CHECK-DAG:     gradus.state @"rprop/last_gradient/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"rprop/size/w" : tensor<4xf32> {init = #gradus.init<constant, 2.500000e-01 : f64>, role = #gradus.role<slot>}
// CHECK:         gradus.write @"rprop/size/w"
// CHECK:         gradus.write @"rprop/last_gradient/w"
gradus.program @rprop attributes {recipe = {settable = false, optimizer = {type = "rprop", learning_rate = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

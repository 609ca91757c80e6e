// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Steps of one size, by the sign.
// CHECK-LABEL: gradus.program @lion
// CHECK-DAG:     gradus.state @"lion/momentum/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     arith.constant dense<9.900000e-01> : tensor<4xf32>
// CHECK:         gradus.write @"lion/momentum/w"
// CHECK-COUNT-2: arith.select
gradus.program @lion attributes {recipe = {settable = false, optimizer = {type = "lion"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Elements that go against the gradient stay; the rest go further.
// CHECK-LABEL: gradus.program @cautious
// CHECK:         gradus.reduce sum %{{.*}} axes [0] : tensor<4xf32> -> tensor<f32>
gradus.program @cautious attributes {recipe = {settable = false, optimizer = {type = "lion", cautious = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

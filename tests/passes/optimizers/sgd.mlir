// RUN: gradus-opt %s --expand-optimizer | FileCheck %s

// Plain descent remembers nothing.
// CHECK-LABEL: gradus.program @plain
// CHECK-NOT:     "sgd/
gradus.program @plain attributes {recipe = {settable = false, optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// v = momentum * v + g; w = w - learning_rate * v
// CHECK-LABEL: gradus.program @momentum
// CHECK:         gradus.state @"sgd/momentum/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK:         %[[OLD:.*]] = gradus.read @"sgd/momentum/w"
// CHECK:         %[[KEPT:.*]] = arith.mulf %[[OLD]], %{{.*}}
// CHECK:         %[[V:.*]] = arith.addf %[[KEPT]], %g
// CHECK:         gradus.write @"sgd/momentum/w", %[[V]]
// CHECK:         %[[MOVE:.*]] = arith.mulf %[[V]], %{{.*}}
// CHECK:         %[[NEW:.*]] = arith.subf %[[W]], %[[MOVE]]
// CHECK:         gradus.write @w, %[[NEW]]
gradus.program @momentum attributes {recipe = {settable = false, optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// The first gradient enters the velocity whole, the others without the part
// that dampening keeps out.
// CHECK-LABEL: gradus.program @dampening
// CHECK:         %[[REST:.*]] = arith.constant dense<7.500000e-01> : tensor<f64>
// CHECK:         %[[FIRST:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<f64>
// CHECK:         arith.select %[[FIRST]], %{{.*}}, %[[REST]]
gradus.program @dampening attributes {recipe = {settable = false, optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.5, dampening = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// SINGA dampens the first one, too.
// CHECK-LABEL: gradus.program @singa
// CHECK-NOT:     arith.select
gradus.program @singa attributes {recipe = {settable = false, compat = "singa", optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.5, dampening = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

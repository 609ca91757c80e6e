// RUN: gradus-opt %s --expand-optimizer | FileCheck %s

// Plain descent remembers nothing.
// CHECK-LABEL: gradus.program @plain
// CHECK-NOT:     "sgd/
gradus.program @plain attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// v = momentum * v + (g + weight_decay * w); w = w - learning_rate * v
// CHECK-LABEL: gradus.program @momentum
// CHECK:         gradus.state @"sgd/momentum/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK:         %[[DECAY:.*]] = arith.constant dense<2.500000e-01>
// CHECK:         %[[PULL:.*]] = arith.mulf %[[W]], %[[DECAY]]
// CHECK:         %[[G:.*]] = arith.addf %g, %[[PULL]]
// CHECK:         %[[MOMENTUM:.*]] = arith.constant dense<5.000000e-01>
// CHECK:         %[[OLD:.*]] = gradus.read @"sgd/momentum/w"
// CHECK:         %[[KEPT:.*]] = arith.mulf %[[OLD]], %[[MOMENTUM]]
// CHECK:         %[[V:.*]] = arith.addf %[[KEPT]], %[[G]]
// CHECK:         gradus.write @"sgd/momentum/w", %[[V]]
// CHECK:         %[[MOVE:.*]] = arith.mulf %[[V]], %{{.*}}
// CHECK:         %[[NEW:.*]] = arith.subf %[[W]], %[[MOVE]]
// CHECK:         gradus.write @w, %[[NEW]]
gradus.program @momentum attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.5, weight_decay = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// The first gradient enters the velocity whole, the others without the part
// that dampening keeps out.
// CHECK-LABEL: gradus.program @dampening
// CHECK:         %[[FIRST:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<f64>
// CHECK:         %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f64>
// CHECK:         %[[REST:.*]] = arith.constant dense<7.500000e-01> : tensor<f64>
// CHECK:         arith.select %[[FIRST]], %[[ONE]], %[[REST]]
gradus.program @dampening attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.5, dampening = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

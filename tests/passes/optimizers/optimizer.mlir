// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Coupled decay joins the gradient before anything else sees it, and a slot is
// named after the optimizer, what it remembers and the parameter.
// CHECK-LABEL: gradus.program @shared
// CHECK:         gradus.state @"adam/first_moment/w"
// CHECK:         gradus.state @"adam/second_moment/w"
// CHECK-DAG:     %[[DECAY:.*]] = arith.constant dense<2.500000e-01> : tensor<4xf32>
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK:         %[[PULL:.*]] = arith.mulf %[[W]], %[[DECAY]]
// CHECK:         arith.addf %g, %[[PULL]]
gradus.program @shared attributes {recipe = {optimizer = {type = "adam", weight_decay = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

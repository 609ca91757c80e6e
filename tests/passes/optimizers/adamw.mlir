// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// The decay shrinks the parameter itself, by 1 - 0.5 * 0.25, and the moments
// see the gradient alone.
// CHECK-LABEL: gradus.program @decayed
// CHECK:         %[[KEPT:.*]] = arith.constant dense<8.750000e-01> : tensor<4xf32>
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK:         %[[SHRUNK:.*]] = arith.mulf %[[W]], %[[KEPT]]
// CHECK:         %[[OLD:.*]] = gradus.read @"adamw/first_moment/w"
// CHECK:         arith.subf %g, %[[OLD]]
// CHECK:         %[[NEW:.*]] = arith.subf %[[SHRUNK]], %{{.*}}
// CHECK:         gradus.write @w, %[[NEW]]
gradus.program @decayed attributes {recipe = {settable = false, optimizer = {type = "adamw", learning_rate = 0.5, weight_decay = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// MindSpore's has no bias correction, so no power of the step.
// CHECK-LABEL: gradus.program @mindspore
// CHECK-NOT:     math.powf
gradus.program @mindspore attributes {recipe = {settable = false, compat = "mindspore", optimizer = {type = "adamw"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

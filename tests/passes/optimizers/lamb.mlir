// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// The move is scaled by the ratio of two norms, or by 1.
// CHECK-LABEL: gradus.program @lamb
// CHECK-COUNT-2: gradus.reduce sum
// CHECK:         arith.divf %{{.*}}, %{{.*}} : tensor<f64>
// CHECK:         arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<f64>
gradus.program @lamb attributes {recipe = {settable = false, optimizer = {type = "lamb"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Without decay nothing is, unless asked for.
// CHECK-LABEL: gradus.program @bias
// CHECK-NOT:     gradus.reduce
gradus.program @bias attributes {recipe = {settable = false, optimizer = {type = "lamb", weight_decay = 0.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// CHECK-LABEL: gradus.program @always
// CHECK:         gradus.reduce
gradus.program @always attributes {recipe = {settable = false, optimizer = {type = "lamb", weight_decay = 0.0, always_adapt = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

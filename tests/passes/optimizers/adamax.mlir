// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// The second slot is a running maximum of the gradient's size.
// CHECK-LABEL: gradus.program @adamax
// CHECK-DAG:     gradus.state @"adamax/first_moment/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"adamax/norm/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     %[[SIZE:.*]] = math.absf %g
// CHECK-DAG:     %[[OLD:.*]] = gradus.read @"adamax/norm/w"
// CHECK:         %[[NORM:.*]] = arith.maximumf
// CHECK:         gradus.write @"adamax/norm/w", %[[NORM]]
// CHECK:         arith.divf %{{.*}}, %[[NORM]] : tensor<4xf32>
gradus.program @adamax attributes {recipe = {settable = false, optimizer = {type = "adamax"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// MindSpore's norm has no epsilon.
// CHECK-LABEL: gradus.program @mindspore
// CHECK:         %[[NORM:.*]] = arith.maximumf
// CHECK:         gradus.write @"adamax/norm/w", %[[NORM]]
// CHECK:         %[[DIVISOR:.*]] = arith.addf %[[NORM]], %{{.*}} : tensor<4xf32>
// CHECK:         arith.divf %{{.*}}, %[[DIVISOR]] : tensor<4xf32>
gradus.program @mindspore attributes {recipe = {settable = false, compat = "mindspore", optimizer = {type = "adamax"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

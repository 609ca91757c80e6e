// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Epsilon joins the root of the mean square.
// CHECK-LABEL: gradus.program @plain
// CHECK-DAG:     gradus.state @"rmsprop/mean_square/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-NOT:     "rmsprop/m{{[^e]}}
// CHECK:         %[[ROOT:.*]] = math.sqrt %{{.*}} : tensor<4xf32>
// CHECK-NEXT:    %[[DIVISOR:.*]] = arith.addf %[[ROOT]]
// CHECK-NEXT:    arith.divf %g, %[[DIVISOR]]
gradus.program @plain attributes {recipe = {settable = false, optimizer = {type = "rmsprop"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// SINGA has it inside.
// CHECK-LABEL: gradus.program @singa
// CHECK:         gradus.write @"rmsprop/mean_square/w"
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf
// CHECK-NEXT:    %[[ROOT:.*]] = math.sqrt %[[SUM]]
// CHECK-NEXT:    arith.divf %g, %[[ROOT]]
gradus.program @singa attributes {recipe = {settable = false, compat = "singa", optimizer = {type = "rmsprop"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// MindSpore's mean square starts at 1, and its momentum has the rate in it.
// CHECK-LABEL: gradus.program @mindspore
// CHECK-DAG:     gradus.state @"rmsprop/mean_square/w" : tensor<4xf32> {init = #gradus.init<constant, 1.000000e+00 : f64>, role = #gradus.role<slot>}
// CHECK:         gradus.write @"rmsprop/momentum/w", %[[MOVE:.*]] :
// CHECK:         arith.subf %{{.*}}, %[[MOVE]]
gradus.program @mindspore attributes {recipe = {settable = false, compat = "mindspore", optimizer = {type = "rmsprop"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Centered: the mean is kept and its square taken off.
// CHECK-LABEL: gradus.program @centered
// CHECK:         gradus.write @"rmsprop/mean/w", %[[MEAN:.*]] :
// CHECK:         %[[SQUARE:.*]] = arith.mulf %[[MEAN]], %[[MEAN]]
// CHECK:         arith.subf %{{.*}}, %[[SQUARE]]
gradus.program @centered attributes {recipe = {settable = false, optimizer = {type = "rmsprop", centered = true, momentum = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

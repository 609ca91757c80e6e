// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Moments are moving averages of the gradient and of its square.
// CHECK-LABEL: gradus.program @moments
// CHECK:         %[[OLD:.*]] = gradus.read @"adam/first_moment/w"
// CHECK:         %[[CHANGE:.*]] = arith.subf %g, %[[OLD]]
// CHECK:         %[[PART:.*]] = arith.mulf %[[CHANGE]], %{{.*}}
// CHECK:         %[[NEW:.*]] = arith.addf %[[OLD]], %[[PART]]
// CHECK:         gradus.write @"adam/first_moment/w", %[[NEW]]
gradus.program @moments attributes {recipe = {settable = false, optimizer = {type = "adam"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Ratios are at most 1 with trust_clip.
// CHECK-LABEL: gradus.program @clipped
// CHECK:         %[[RATIO:.*]] = arith.select {{.*}} : tensor<i1>, tensor<f64>
// CHECK:         arith.minimumf %[[RATIO]], %{{.*}} : tensor<f64>
gradus.program @clipped attributes {recipe = {settable = false, optimizer = {type = "lamb", trust_clip = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

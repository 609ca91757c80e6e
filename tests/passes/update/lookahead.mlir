// RUN: gradus-opt %s --lookahead --canonicalize --cse | FileCheck %s
// RUN: gradus-opt %s --lookahead --lookahead --canonicalize --cse | FileCheck %s

// Both meet where the number of updates is a multiple of three.
// CHECK-LABEL: gradus.program @p
// CHECK:         gradus.state @lookahead.rate : tensor<f64> {init = #gradus.init<constant, 2.500000e-01 : f64>
// CHECK:         gradus.state @"lookahead/slow/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-NOT:     lookahead/slow/mean
// CHECK-DAG:     %[[RATE:.*]] = gradus.read @lookahead.rate
// CHECK-DAG:     %[[FIRST:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<f64>
// CHECK-DAG:     %[[ROUNDS:.*]] = math.floor
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK:         %[[KEPT:.*]] = gradus.read @"lookahead/slow/w"
// CHECK:         %[[SLOW:.*]] = arith.select %{{.*}}, %[[W]], %[[KEPT]]
// CHECK:         arith.subf %new, %[[SLOW]]
// CHECK:         %[[BOTH:.*]] = arith.addf %[[SLOW]], %{{.*}}
// CHECK:         %[[FOLLOWS:.*]] = arith.select %[[MEETS:.*]], %[[BOTH]], %[[SLOW]]
// CHECK:         gradus.write @"lookahead/slow/w", %[[FOLLOWS]]
// CHECK:         %[[GOES:.*]] = arith.select %[[MEETS]], %[[BOTH]], %new
// CHECK:         gradus.write @w, %[[GOES]]
// CHECK:         gradus.write @step
gradus.program @p attributes {recipe = {lookahead = {steps = 3 : i64, rate = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) {
    gradus.write @mean, %new : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// Without the key nothing happens.
// CHECK-LABEL: gradus.program @off
// CHECK-NOT:     lookahead/slow
gradus.program @off attributes {recipe = {lookahead = false}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) {
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

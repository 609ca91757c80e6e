// RUN: gradus-opt %s --expand-guards | FileCheck %s
// RUN: gradus-opt %s --expand-guards --expand-guards | FileCheck %s

// All writes are held back but the counter's.
// CHECK-LABEL: gradus.program @p
// CHECK-NOT:     gradus.guard
// CHECK:         gradus.write @step, %next
// CHECK:         %[[OLD:.*]] = gradus.read @w
// CHECK:         %[[EACH:.*]] = gradus.broadcast %finite dims [] : tensor<i1> -> tensor<4xi1>
// CHECK:         %[[KEPT:.*]] = arith.select %[[EACH]], %new, %[[OLD]]
// CHECK:         gradus.write @w, %[[KEPT]]
// CHECK:         %[[BUFFER:.*]] = arith.select %finite, %mean, %{{.*}}
// CHECK:         gradus.write @mean, %[[BUFFER]]
gradus.program @p {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<f32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>, %mean: tensor<f32>, %finite: tensor<i1>, %next: tensor<i64>) {
    gradus.guard %finite always [@step]
    gradus.write @step, %next : tensor<i64>
    gradus.write @w, %new : tensor<4xf32>
    gradus.write @mean, %mean : tensor<f32>
    gradus.return
  }
}

// Guards that exempt the same states are one selection; what another one
// exempts is chosen by the others alone.
// CHECK-LABEL: gradus.program @several
// CHECK:         %[[BOTH:.*]] = arith.andi %one, %two
// CHECK:         %[[KEPT:.*]] = arith.select %[[BOTH]], %new, %{{.*}}
// CHECK:         %[[FREE:.*]] = arith.select %[[BOTH]], %mean, %{{.*}}
// CHECK:         gradus.write @mean, %[[FREE]]
// CHECK:         %[[ALL:.*]] = arith.select %three, %[[KEPT]], %{{.*}}
// CHECK:         gradus.write @w, %[[ALL]]
// CHECK-NOT:     arith.select
gradus.program @several {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<f32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<f32>, %mean: tensor<f32>, %one: tensor<i1>, %two: tensor<i1>, %three: tensor<i1>) {
    gradus.guard %one
    gradus.guard %two
    gradus.guard %three always [@mean]
    gradus.write @w, %new : tensor<f32>
    gradus.write @mean, %mean : tensor<f32>
    gradus.return
  }
}

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

// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Updates are counted by the accepted batches over those of an update.
// CHECK-LABEL: gradus.program @p
// CHECK:         gradus.state @step
// CHECK:         gradus.state @accepted_steps
// CHECK:         %[[FOUR:.*]] = arith.constant dense<4> : tensor<i64>
// CHECK:         %[[BATCHES:.*]] = gradus.read @accepted_steps
// CHECK:         %[[UPDATES:.*]] = arith.divsi %[[BATCHES]], %[[FOUR]]
// CHECK:         arith.sitofp %[[UPDATES]]
// CHECK-DAG:     gradus.write @step
// CHECK-DAG:     gradus.write @accepted_steps
gradus.program @p attributes {recipe = {accumulation = 4 : i64, on_nonfinite = "skip", optimizer = {type = "adam"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

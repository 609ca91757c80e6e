// RUN: gradus-opt %s --weight-decay --expand-optimizer | FileCheck %s
// RUN: gradus-opt %s --weight-decay --expand-optimizer --expand-optimizer | FileCheck %s

// The example of stage_update.td: no update is left, and the step is counted.
// CHECK-LABEL: gradus.program @descent
// CHECK:         gradus.state @step : tensor<i64> {init = #gradus.init<zeros>, role = #gradus.role<counter>}
// CHECK-NOT:     gradus.update
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK:         %[[RATE:.*]] = arith.constant dense<1.000000e-01> : tensor<4xf32>
// CHECK:         %[[MOVE:.*]] = arith.mulf %g, %[[RATE]]
// CHECK:         %[[NEW:.*]] = arith.subf %[[W]], %[[MOVE]]
// CHECK:         gradus.write @w, %[[NEW]]
// CHECK:         %[[STEP:.*]] = gradus.read @step
// CHECK:         %[[NEXT:.*]] = arith.addi %[[STEP]], %{{.*}}
// CHECK:         gradus.write @step, %[[NEXT]]
// CHECK-NOT:     gradus.write
gradus.program @descent attributes {recipe = {settable = false, optimizer = {type = "sgd", learning_rate = 0.1}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// The factors of groups and of the update multiply; the last group that has a
// weight decay gives it.
// CHECK-LABEL: gradus.program @groups
// CHECK:         %[[BIAS:.*]] = gradus.read @head.bias
// CHECK-NOT:     arith.constant dense<5.000000e-01>
// CHECK:         arith.constant dense<4.000000e+00> : tensor<4xf32>
// CHECK:         gradus.write @head.bias
// CHECK:         gradus.read @body.weight
// CHECK:         arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK:         arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK:         gradus.write @body.weight
gradus.program @groups attributes {recipe = {settable = false, 
    optimizer = {type = "sgd", learning_rate = 1.0, weight_decay = 0.5},
    groups = [{match = ["head.*"], learning_rate_factor = 2.0, weight_decay = 0.25},
              {match = ["*.bias"], weight_decay = 0.0}]}} {
  gradus.state @head.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @body.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @head.bias, %g {learning_rate_factor = 2.0} : tensor<4xf32>
    gradus.update @body.weight, %g : tensor<4xf32>
    gradus.return
  }
}

// With `maximize` parameters climb.
// CHECK-LABEL: gradus.program @climb
// CHECK:         arith.negf %g
gradus.program @climb attributes {recipe = {settable = false, optimizer = {type = "sgd", maximize = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// An optimizer moves what a method has written, and decay is of that, too.
// CHECK-LABEL: gradus.program @moved
// CHECK:         gradus.graph @train(%there: tensor<4xf32>, %g: tensor<4xf32>)
// CHECK-NOT:     gradus.read @w
// CHECK:         %[[NEW:.*]] = arith.subf %there, %{{.*}}
// CHECK-NOT:     gradus.write @w, %there
// CHECK:         gradus.write @w, %[[NEW]]
// CHECK-NOT:     gradus.write @w
gradus.program @moved attributes {recipe = {settable = false, optimizer = {type = "sgd", learning_rate = 0.1}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%there: tensor<4xf32>, %g: tensor<4xf32>) -> () {
    gradus.write @w, %there : tensor<4xf32>
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --weight-decay --expand-optimizer --canonicalize --cse | FileCheck %s

// A group changes the settings of the parameters that its patterns name: no decay
// of biases, ten times the rate for the head. The others keep the optimizer's own.
// CHECK-LABEL: gradus.program @groups
// CHECK-DAG:     %[[TENFOLD:.*]] = arith.constant dense<1.000000e+01> : tensor<f32>
// CHECK-DAG:     %[[DECAY:.*]] = arith.constant dense<5.000000e-01> : tensor<f32>
// CHECK:         %[[BODY:.*]] = gradus.read @body.weight
// CHECK:         %[[PULL:.*]] = arith.mulf %[[BODY]], %[[DECAY]]
// CHECK:         %[[DECAYED:.*]] = arith.addf %g, %[[PULL]]
// CHECK:         arith.subf %[[BODY]], %[[DECAYED]]
// CHECK:         %[[HEAD:.*]] = gradus.read @head.bias
// CHECK:         %[[MOVE:.*]] = arith.mulf %h, %[[TENFOLD]]
// CHECK:         arith.subf %[[HEAD]], %[[MOVE]]
gradus.program @groups attributes {recipe = {settable = false, 
    optimizer = {type = "sgd", learning_rate = 1.0, weight_decay = 0.5},
    groups = [{match = ["*.bias"], weight_decay = 0.0}, {match = ["head.*"], learning_rate_factor = 10.0}]}} {
  gradus.state @body.weight : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.bias : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>, %h: tensor<f32>) -> () {
    gradus.update @body.weight, %g : tensor<f32>
    gradus.update @head.bias, %h : tensor<f32>
    gradus.return
  }
}

// A name with brackets, as exporters of JAX write it, is a pattern of itself.
// CHECK-LABEL: gradus.program @brackets
// CHECK:         gradus.state @"lion/momentum/params['dense'].w"
// CHECK-NOT:     lion/momentum/params['head'].w
gradus.program @brackets attributes {recipe = {settable = false, 
    optimizer = {type = "sgd", learning_rate = 1.0},
    groups = [{match = ["params['dense'].w"], optimizer = {type = "lion"}}]}} {
  gradus.state @"params['dense'].w" : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"params['head'].w" : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @"params['dense'].w", %g : tensor<f32>
    gradus.update @"params['head'].w", %g : tensor<f32>
    gradus.return
  }
}

// A group may have an optimizer of its own.
// CHECK-LABEL: gradus.program @own
// CHECK:         gradus.state @"lion/momentum/head.weight"
// CHECK-NOT:     body
gradus.program @own attributes {recipe = {settable = false, 
    optimizer = {type = "sgd", learning_rate = 1.0},
    groups = [{match = ["head.*"], optimizer = {type = "lion"}}]}} {
  gradus.state @head.weight : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @head.weight, %g : tensor<f32>
    gradus.return
  }
}

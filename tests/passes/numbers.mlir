// RUN: gradus-opt %s --weight-decay --expand-optimizer --canonicalize --cse | FileCheck %s

// Numbers are states under their paths, with the range of their keys; a number
// that is 0 is none, and neither is what it switches off.
// CHECK-LABEL: gradus.program @states
// CHECK-DAG:     gradus.state @optimizer.learning_rate : tensor<f64> {init = #gradus.init<constant, 5.000000e-01 : f64>, range = array<f64: 0.000000e+00, 0x7FF0000000000000>, role = #gradus.role<hyperparameter>}
// CHECK-DAG:     gradus.state @"groups[0].weight_decay" : tensor<f64> {init = #gradus.init<constant, 1.250000e-01 : f64>
// CHECK-NOT:     gradus.state @optimizer.momentum
// CHECK:         %[[DECAY:.*]] = gradus.read @"groups[0].weight_decay"
// CHECK:         %[[NARROW:.*]] = arith.truncf %[[DECAY]] : tensor<f64> to tensor<f32>
// CHECK:         %[[SPREAD:.*]] = gradus.broadcast %[[NARROW]]
// CHECK:         arith.mulf %[[SPREAD]], %w
// CHECK:         gradus.read @optimizer.learning_rate
gradus.program @states attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.5},
                                             groups = [{match = ["w"], weight_decay = 0.125}]}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Where the recipe says so they are constants.
// CHECK-LABEL: gradus.program @constants
// CHECK-NOT:     hyperparameter
// CHECK:         arith.constant dense<5.000000e-01> : tensor<4xf32>
gradus.program @constants attributes {recipe = {settable = false, optimizer = {type = "sgd", learning_rate = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Numbers of f32, as of SINGA and MindSpore, stay so when they are set.
// CHECK-LABEL: gradus.program @single
// CHECK:         %[[RATE:.*]] = gradus.read @optimizer.learning_rate
// CHECK:         arith.truncf %[[RATE]] : tensor<f64> to tensor<f32>
gradus.program @single attributes {recipe = {compat = "singa", optimizer = {type = "sgd", learning_rate = 0.1}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// A factor that depends on the number of the update, which accumulation counts
// in whole numbers, leaves a rate's value unknown.
// CHECK-LABEL: gradus.program @scheduled
// CHECK:         arith.divsi
// CHECK:         math.cos
// CHECK:         gradus.write @"adamw/first_moment/w"
gradus.program @scheduled attributes {recipe = {accumulation = 2, optimizer = {type = "adamw"},
                                                schedule = {beta1 = [{type = "cosine", period = 4}]}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

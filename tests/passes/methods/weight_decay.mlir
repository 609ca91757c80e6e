// RUN: gradus-opt %s --weight-decay --canonicalize --cse | FileCheck %s
// RUN: gradus-opt %s --weight-decay --weight-decay --canonicalize --cse | FileCheck %s

// CHECK-LABEL: gradus.program @coupled
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK:         %[[PULL:.*]] = arith.mulf %[[W]], %{{.*}}
// CHECK:         %[[SUM:.*]] = arith.addf %g, %[[PULL]]
// CHECK:         gradus.update @w, %[[SUM]]
gradus.program @coupled attributes {recipe = {settable = false, optimizer = {type = "sgd", weight_decay = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// These take it off the parameter themselves.
// CHECK-LABEL: gradus.program @decoupled
// CHECK:         gradus.update @w, %g
gradus.program @decoupled attributes {recipe = {settable = false, optimizer = {type = "adamw", weight_decay = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// CHECK-LABEL: gradus.program @chosen
// CHECK:         gradus.update @w, %g
gradus.program @chosen attributes {recipe = {settable = false, optimizer = {type = "nadam", weight_decay = 0.5, decoupled_weight_decay = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// A climbing gradient is negated later, so the pull is now.
// CHECK-LABEL: gradus.program @climb
// CHECK:         arith.constant dense<-5.000000e-01>
gradus.program @climb attributes {recipe = {settable = false, optimizer = {type = "sgd", weight_decay = 0.5, maximize = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Vectors are spared in one word.
// CHECK-LABEL: gradus.program @matrices
// CHECK:         gradus.update @w, %g
gradus.program @matrices attributes {recipe = {settable = false, optimizer = {type = "sgd", weight_decay = 0.5}, weight_decay_for = "matrices"}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Momentum is in the gradient already, so decay adds up its own.
// CHECK-LABEL: gradus.program @momentum
// CHECK:         gradus.state @"sgd/decay/w"
// CHECK-DAG:     %[[PULL:.*]] = arith.mulf %{{.*}}, %cst
// CHECK-DAG:     %[[OLD:.*]] = gradus.read @"sgd/decay/w"
// CHECK:         %[[KEPT:.*]] = arith.addf %{{.*}}, %[[PULL]]
// CHECK:         gradus.write @"sgd/decay/w", %[[KEPT]]
// CHECK:         %[[SUM:.*]] = arith.addf %g, %[[KEPT]]
// CHECK:         gradus.update @w, %[[SUM]]
gradus.program @momentum attributes {recipe = {settable = false, optimizer = {type = "sgd", weight_decay = 0.5, momentum = 0.9}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g {gradus.has_momentum} : tensor<4xf32>
    gradus.return
  }
}

// Cuts that have slots of their own have that momentum of their own, too.
// CHECK-LABEL: gradus.program @cuts
// CHECK:         gradus.graph @train(
// CHECK:         gradus.write @"sgd/decay/w"
// CHECK:         gradus.graph @train_cut1(
// CHECK:         gradus.write @"sgd_cut1/decay/w"
gradus.program @cuts attributes {recipe = {settable = false, optimizer = {type = "sgd", weight_decay = 0.5, momentum = 0.9}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g {gradus.has_momentum} : tensor<4xf32>
    gradus.return
  }
  gradus.graph @train_cut1(%g: tensor<4xf32>) -> () attributes {gradus.trains = "updates", gradus.cut = "_cut1"} {
    gradus.update @w, %g {gradus.has_momentum} : tensor<4xf32>
    gradus.return
  }
}

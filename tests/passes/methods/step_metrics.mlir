// RUN: gradus-opt %s --step-metrics | FileCheck %s
// RUN: gradus-opt %s --step-metrics --step-metrics | FileCheck %s

// The length of all gradients together, and the rate under its schedule.
// CHECK-LABEL: gradus.program @asked
// CHECK:         gradus.graph @train({{.*}} -> (gradient_norm: tensor<f32>, learning_rate: tensor<f32>)
// CHECK:           %[[B:.*]] = gradus.reduce sum
// CHECK:           %[[A:.*]] = gradus.reduce sum
// CHECK:           %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK:           %[[NORM:.*]] = math.sqrt %[[SUM]]
// CHECK:           %[[RATE:.*]] = arith.truncf
// CHECK:           gradus.return %[[NORM]], %[[RATE]]
gradus.program @asked attributes {recipe = {metrics = ["gradient_norm", "learning_rate"], optimizer = {type = "sgd", learning_rate = 1.0e-1},
    schedule = {learning_rate = [{type = "linear_warmup", steps = 5 : i64}]}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %h: tensor<2xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.update @v, %h : tensor<2xf32>
    gradus.return
  }
}

// Variants have the same outputs: the one that adds up has the sum so far.
// CHECK-LABEL: gradus.program @accumulated
// CHECK:         gradus.graph @train({{.*}} -> (gradient_norm: tensor<f32>)
// CHECK:         gradus.graph @train_accumulate({{.*}} -> (gradient_norm: tensor<f32>)
// CHECK:           gradus.reduce sum
// CHECK:           math.sqrt
gradus.program @accumulated attributes {recipe = {metrics = ["gradient_norm"]}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"accumulation/gradient/w" : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
  gradus.graph @train_accumulate(%g: tensor<4xf32>) -> () attributes {gradus.trains = "accumulates"} {
    gradus.write @"accumulation/gradient/w", %g : tensor<4xf32>
    gradus.return
  }
}

// A loss scale is always told, and what it made of the steps.
// CHECK-LABEL: gradus.program @scaled
// CHECK:         gradus.graph @train({{.*}} -> (loss_scale: tensor<f32>, skipped_steps: tensor<i64>)
// CHECK:           %[[SCALE:.*]] = gradus.read @loss_scale
// CHECK:           gradus.return %[[SCALE]], %n
gradus.program @scaled attributes {recipe = {loss_scale = {type = "dynamic", initial = 8.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @loss_scale : tensor<f32> {role = #gradus.role<hyperparameter>, init = #gradus.init<constant, 8.0 : f64>}
  gradus.state @skipped_steps : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %n: tensor<i64>) -> () {
    gradus.write @skipped_steps, %n : tensor<i64>
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// So are those of groups.
// CHECK-LABEL: gradus.program @groups
// CHECK:         gradus.graph @train({{.*}} -> ("loss_scale/0": tensor<f32>, "loss_scale/1": tensor<f32>, skipped_steps: tensor<i64>)
// CHECK-DAG:       %[[S0:.*]] = gradus.read @"loss_scale/0"
// CHECK-DAG:       %[[S1:.*]] = gradus.read @"loss_scale/1"
// CHECK:           gradus.return %[[S0]], %[[S1]], %n
gradus.program @groups attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]]}}} {
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @skipped_steps : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %n: tensor<i64>) -> () {
    gradus.write @skipped_steps, %n : tensor<i64>
    gradus.update @v, %g : tensor<4xf32>
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Nothing is asked for.
// CHECK-LABEL: gradus.program @silent
// CHECK:         gradus.graph @train(%g: tensor<4xf32>) {
gradus.program @silent attributes {recipe = {metrics = ["accuracy"]}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Ranks that make updates of their own gradients see one norm.
// CHECK-LABEL: gradus.program @weights
// CHECK:         gradus.graph @train({{.*}} -> (gradient_norm: tensor<f32>)
// CHECK:           %[[OWN:.*]] = gradus.reduce sum
// CHECK:           %[[ALL:.*]] = gradus.all_reduce %[[OWN]] : tensor<f32> -> tensor<f32>
// CHECK:           %[[MEAN:.*]] = arith.divf %[[ALL]]
// CHECK:           %[[ROOT:.*]] = math.sqrt %[[MEAN]]
// CHECK:           gradus.return %[[ROOT]]
gradus.program @weights attributes {recipe = {metrics = ["gradient_norm"], distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

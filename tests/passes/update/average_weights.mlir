// RUN: gradus-opt %s --average-weights | FileCheck %s
// RUN: gradus-opt %s --average-weights --average-weights | FileCheck %s

// The average starts from the first new parameter, and evaluation may read it.
// CHECK-LABEL: gradus.program @p
// CHECK:         gradus.state @"ema/average/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         gradus.graph @train(
// CHECK:           gradus.write @w, %new
// CHECK:           %[[OLD:.*]] = gradus.read @"ema/average/w"
// CHECK:           arith.subf %new, %[[OLD]]
// CHECK:           %[[AVERAGE:.*]] = arith.select
// CHECK:           gradus.write @"ema/average/w", %[[AVERAGE]]
// CHECK:         gradus.graph @evaluate(
// CHECK:           gradus.read @w
// CHECK:         gradus.graph @evaluate_ema(
// CHECK:           %[[BEGUN:.*]] = arith.cmpf olt
// CHECK:           %[[W:.*]] = gradus.read @w
// CHECK:           %[[MEAN:.*]] = gradus.read @"ema/average/w"
// CHECK:           %[[ALL:.*]] = gradus.broadcast %[[BEGUN]]
// CHECK:           %[[CHOSEN:.*]] = arith.select %[[ALL]], %[[MEAN]], %[[W]]
// CHECK:           gradus.return %[[CHOSEN]]
gradus.program @p attributes {recipe = {ema = {decay = 0.75}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) {
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
  gradus.graph @evaluate() -> (w: tensor<4xf32>) {
    %w = gradus.read @w : tensor<4xf32>
    gradus.return %w : tensor<4xf32>
  }
}

// Without an evaluation, too; and where nothing counts steps, this pass does.
// CHECK-LABEL: gradus.program @trained_by_hand
// CHECK:         gradus.write @"ema/average/w"
// CHECK-NOT:     gradus.write @"ema/average/w"
// CHECK:         gradus.write @step
gradus.program @trained_by_hand attributes {recipe = {ema = {decay = 0.75}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) {
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// What rests in a step is averaged over as it is.
// CHECK-LABEL: gradus.program @frozen
// CHECK:         gradus.graph @train_cut1(
// CHECK:           %[[V:.*]] = gradus.read @v
// CHECK:           gradus.write @"ema/average/v"
// CHECK-NOT:       gradus.write @v
gradus.program @frozen attributes {recipe = {ema = {decay = 0.75}}} {
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) {
    gradus.write @v, %new : tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
  gradus.graph @train_cut1(%new: tensor<4xf32>) attributes {gradus.trains = "updates"} {
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// The average of a weight that each rank has of its own is the rank's own, too.
// CHECK-LABEL: gradus.program @ranks
// CHECK:         gradus.state @"ema/average/own" : tensor<4xf32> {differs_along = ["data"], init
// CHECK:         gradus.state @"ema/average/shared" : tensor<4xf32> {init
gradus.program @ranks attributes {recipe = {ema = {decay = 0.75}}} {
  gradus.state @own : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>, differs_along = ["data"]}
  gradus.state @shared : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) {
    gradus.write @own, %new : tensor<4xf32>
    gradus.write @shared, %new : tensor<4xf32>
    gradus.return
  }
}

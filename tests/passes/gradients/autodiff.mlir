// RUN: gradus-opt %s --autodiff | FileCheck %s
// RUN: gradus-opt %s --autodiff --autodiff | FileCheck %s

// The example of stage_gradients.td.
// CHECK-LABEL: gradus.program @line
// The gradient of the sum is one everywhere, and x times one is x.
// CHECK:         gradus.update @slope, %x : tensor<4xf32>
// CHECK-NOT:     gradus.update
gradus.program @line {
  gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> (loss: tensor<f32>) {
    %slope = gradus.read @slope : tensor<4xf32>
    %y = arith.mulf %x, %slope : tensor<4xf32>
    %loss = gradus.reduce sum %y axes [0] : tensor<4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// A parameter used twice has the sum of both uses' gradients, also where it is
// read twice.
// CHECK-LABEL: gradus.program @tied
// CHECK:         %[[SUM:.*]] = arith.addf %{{[xy]}}, %{{[xy]}}
// CHECK:         gradus.update @w, %[[SUM]]
gradus.program @tied {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>, %y: tensor<f32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    %a = arith.mulf %x, %w : tensor<f32>
    %again = gradus.read @w : tensor<f32>
    %b = arith.mulf %y, %again : tensor<f32>
    %loss = arith.addf %a, %b : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Fixed parameters and buffers get no update, nor does one that does not reach
// the loss.
// CHECK-LABEL: gradus.program @selection
// CHECK:         gradus.update @head.weight
// CHECK-NOT:     gradus.update
gradus.program @selection attributes {recipe = {trainable = ["*"], fixed = ["body.*"]}} {
  gradus.state @body.weight : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @unused : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.weight : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<f32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>, other: tensor<f32>) {
    %body = gradus.read @body.weight : tensor<f32>
    %unused = gradus.read @unused : tensor<f32>
    %head = gradus.read @head.weight : tensor<f32>
    %mean = gradus.read @mean : tensor<f32>
    %0 = arith.mulf %x, %body : tensor<f32>
    %1 = arith.addf %0, %mean : tensor<f32>
    %loss = arith.mulf %1, %head : tensor<f32>
    gradus.return %loss, %unused : tensor<f32>, tensor<f32>
  }
}

// What is not between a parameter and the loss needs no rule: here, the
// comparison, whose result has no gradient, and the metric.
// CHECK-LABEL: gradus.program @metric
// CHECK:         gradus.update @w
gradus.program @metric {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%label: tensor<2xi64>) -> (loss: tensor<f32>, accuracy: tensor<f32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %loss = gradus.softmax_cross_entropy %w, %label axis 1 : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>
    %accuracy = gradus.accuracy %w, %label axis 1 : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>
    gradus.return %loss, %accuracy : tensor<f32>, tensor<f32>
  }
}

// A stopped gradient leaves the other way, and an op behind it needs no rule.
// CHECK-LABEL: gradus.program @stopped
// CHECK:         %[[WHOLE:.*]] = math.roundeven
// CHECK:         gradus.update @slope, %x : tensor<4xf32>
gradus.program @stopped {
  gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> (loss: tensor<f32>) {
    %slope = gradus.read @slope : tensor<4xf32>
    %y = arith.mulf %x, %slope : tensor<4xf32>
    %still = gradus.stop_gradient %y : tensor<4xf32>
    %bits = arith.bitcast %still : tensor<4xf32> to tensor<4xi32>
    %again = arith.bitcast %bits : tensor<4xi32> to tensor<4xf32>
    %whole = math.roundeven %again : tensor<4xf32>
    %through = gradus.stop_gradient %whole passing_to %y : tensor<4xf32>
    %loss = gradus.reduce sum %through axes [0] : tensor<4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// An op of the body that depends on no parameter needs no rule.
// CHECK-LABEL: gradus.program @scan_of_inputs
// CHECK:         gradus.update @w
gradus.program @scan_of_inputs {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%h: tensor<4xf32>, %x: tensor<3x4xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4xf32>
    %y, %z = gradus.scan 3 carry(%h, %h : tensor<4xf32>, tensor<4xf32>) over(%x : tensor<3x4xf32>) with(%w : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<4xf32>, %u: tensor<4xf32>):
      %0 = math.cbrt %b : tensor<4xf32>
      %1 = arith.addf %0, %s : tensor<4xf32>
      %2 = arith.mulf %a, %u : tensor<4xf32>
      %3 = arith.mulf %2, %1 : tensor<4xf32>
      gradus.yield %3, %1 : tensor<4xf32>, tensor<4xf32>
    } -> tensor<4xf32>, tensor<4xf32>
    %loss = gradus.reduce sum %y axes [0] : tensor<4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// RUN: gradus-opt %s --loss-scale-borders | FileCheck %s
// RUN: gradus-opt %s --loss-scale-borders --loss-scale-borders | FileCheck %s

// The example of stage_gradients.td: a border where the second layer uses what
// the first one gives, and the scale of the last group at the loss.
// CHECK-LABEL: gradus.program @p
// CHECK-DAG:     gradus.state @"loss_scale/0" : tensor<f32> {init = #gradus.init<constant, 8.000000e+00 : f64>, role = #gradus.role<hyperparameter>}
// CHECK-DAG:     gradus.state @"loss_scale/1" : tensor<f32> {init = #gradus.init<constant, 4.000000e+00 : f64>, role = #gradus.role<hyperparameter>}
// CHECK-DAG:     %[[S0:.*]] = gradus.read @"loss_scale/0"
// CHECK-DAG:     %[[S1:.*]] = gradus.read @"loss_scale/1"
// CHECK:         %[[RATIO:.*]] = arith.divf %[[S0]], %[[S1]] {gradus.border = array<i64: 0, 1>}
// CHECK:         %[[Y:.*]] = arith.mulf %x, %{{.*}}
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[Y]], %[[RATIO]]
// CHECK:         %[[BEHIND:.*]] = gradus.stop_gradient %[[Y]] passing_to %[[SCALED]]
// CHECK:         %[[LOSS:.*]] = arith.mulf %[[BEHIND]], %{{.*}}
// CHECK:         %[[LARGER:.*]] = arith.mulf %[[LOSS]], %[[S1]]
// CHECK:         %[[START:.*]] = gradus.stop_gradient %[[LOSS]] passing_to %[[LARGER]]
// CHECK-NOT:     gradus.stop_gradient
// CHECK:         gradus.return %[[START]]
gradus.program @p attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]], initial = [8.0, 4.0]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// One border serves all uses behind it, and a value of 16 bits is multiplied in
// f32.
// CHECK-LABEL: gradus.program @narrow
// CHECK:         %[[H:.*]] = gradus.matmul %x, %{{.*}} -> tensor<2x4xf16>
// CHECK:         %[[WIDE:.*]] = arith.extf %[[H]] : tensor<2x4xf16> to tensor<2x4xf32>
// CHECK:         %[[PRODUCT:.*]] = arith.mulf %[[WIDE]], %{{.*}} : tensor<2x4xf32>
// CHECK:         %[[BACK:.*]] = arith.truncf %[[PRODUCT]]
// CHECK:         %[[BEHIND:.*]] = gradus.stop_gradient %[[H]] passing_to %[[BACK]] : tensor<2x4xf16>
// CHECK-NOT:     gradus.stop_gradient
// CHECK:         gradus.matmul %[[BEHIND]], %{{.*}} : tensor<2x4xf16>, tensor<4x4xf16> -> tensor<2x4xf32>
// CHECK-NOT:     gradus.stop_gradient
// CHECK:         gradus.matmul %[[BEHIND]], %{{.*}} : tensor<2x4xf16>, tensor<4x4xf16> -> tensor<2x4xf32>
// CHECK:         gradus.stop_gradient
// CHECK-NOT:     gradus.stop_gradient
gradus.program @narrow attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w*"]]}}} {
  gradus.state @v : tensor<4x4xf16> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w1 : tensor<4x4xf16> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w2 : tensor<4x4xf16> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<2x4xf16>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<4x4xf16>
    %w1 = gradus.read @w1 : tensor<4x4xf16>
    %w2 = gradus.read @w2 : tensor<4x4xf16>
    %h = gradus.matmul %x, %v : tensor<2x4xf16>, tensor<4x4xf16> -> tensor<2x4xf16>
    %a = gradus.matmul %h, %w1 : tensor<2x4xf16>, tensor<4x4xf16> -> tensor<2x4xf32>
    %b = gradus.matmul %h, %w2 : tensor<2x4xf16>, tensor<4x4xf16> -> tensor<2x4xf32>
    %c = arith.addf %a, %b : tensor<2x4xf32>
    %loss = gradus.reduce sum %c axes [0, 1] : tensor<2x4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// The factor that waits for other ranks stays outermost.
// CHECK-LABEL: gradus.program @deferred
// CHECK:         %[[LOSS:.*]] = arith.mulf %x, %{{.*}}
// CHECK:         %[[START:.*]] = gradus.stop_gradient %[[LOSS]] passing_to
// CHECK:         %[[MEAN:.*]] = arith.mulf %[[START]], %share {gradus.deferred}
// CHECK:         gradus.return %[[MEAN]]
gradus.program @deferred attributes {recipe = {loss_scale = {type = "group", groups = [["w"]]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>, %share: tensor<f32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    %loss = arith.mulf %x, %w : tensor<f32>
    %mean = arith.mulf %loss, %share {gradus.deferred} : tensor<f32>
    gradus.return %mean : tensor<f32>
  }
}

// What depends on no trained parameter has no gradient, and other kinds of loss
// scale have no borders.
// CHECK-LABEL: gradus.program @fixed
// CHECK-COUNT-1: gradus.stop_gradient
// CHECK-NOT:     gradus.stop_gradient
// CHECK-LABEL: gradus.program @dynamic
// CHECK-NOT:     gradus.stop_gradient
gradus.program @fixed attributes {recipe = {fixed = ["v"], loss_scale = {type = "group", groups = [["w"]]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}
gradus.program @dynamic attributes {recipe = {loss_scale = {type = "dynamic"}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    %loss = arith.mulf %x, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

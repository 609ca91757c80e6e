// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(recompute{segments=2 recomputed=1})))' | FileCheck %s
// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(recompute{segments=2 recomputed=1},recompute{segments=2 recomputed=1})))' | FileCheck %s
// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(recompute{segments=2 recomputed=0})))' | FileCheck %s --check-prefix=NONE
// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(recompute{segments=1 recomputed=5})))' | FileCheck %s --check-prefix=NONE

// NONE-LABEL: gradus.graph @train(
// NONE-COUNT-1: plan.launch @tanh
// NONE-NOT: plan.launch @tanh(
// NONE-LABEL: gradus.graph @train_refresh(
// NONE-COUNT-1: plan.launch @tanh
// NONE-NOT: plan.launch @tanh(

gradus.program @p {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<256xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}

  // What the first segment made, and its reshape, is made again from its input
  // and the state, right before the backward pass reads it. What crosses the
  // cut (%1) is kept.
  // CHECK-LABEL: gradus.graph @train
  // CHECK: %[[P:.*]] = plan.launch @scale(%x, %[[W:.*]]) items
  // CHECK: %[[F:.*]] = gradus.reshape %[[P]]
  // CHECK: plan.launch @tanh(%[[F]])
  // CHECK: %[[E:.*]] = plan.launch @exp
  // CHECK: %[[L:.*]]:2 = plan.launch @loss(%[[E]])
  // CHECK: %[[G:.*]] = plan.launch @backward(%[[L]]#1, %[[E]])
  // CHECK: %[[P2:.*]] = plan.launch @scale(%x, %[[W]]) items
  // CHECK: %[[F2:.*]] = gradus.reshape %[[P2]]
  // CHECK: %[[T2:.*]] = plan.launch @tanh(%[[F2]])
  // CHECK: plan.launch @update(%[[W]], %[[G]], %[[T2]])
  gradus.graph @train(%x: tensor<4xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4xf32>
    %p = plan.launch @scale(%x, %w) items [1] grain 1 inplace [-1] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %f = gradus.reshape %p : tensor<4xf32> -> tensor<2x2xf32>
    %0 = plan.launch @tanh(%f) items [1] grain 1 inplace [-1] : (tensor<2x2xf32>) -> tensor<4xf32>
    %1 = plan.launch @exp(%0) items [1] grain 1 inplace [-1] : (tensor<4xf32>) -> tensor<4xf32>
    %loss:2 = plan.launch @loss(%1) items [1] grain 1 inplace [-1, -1] : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    %g = plan.launch @backward(%loss#1, %1) items [1] grain 1 inplace [-1] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %new = plan.launch @update(%w, %g, %0) items [1] grain 1 inplace [0] : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.return %loss#0 : tensor<f32>
  }

  // So is what a variant of the step keeps, but for the little that it reads
  // soon after the loss: making that again would make all else again so soon.
  // CHECK-LABEL: gradus.graph @train_refresh
  // CHECK: plan.launch @tanh(%x)
  // CHECK: %[[M:.*]] = plan.launch @measure
  // CHECK: %[[G:.*]] = plan.launch @backward
  // CHECK-NEXT: plan.launch @invert(%[[M]])
  // CHECK-NEXT: %[[D:.*]] = plan.launch @more(%[[G]])
  // CHECK-NEXT: %[[T3:.*]] = plan.launch @tanh(%x)
  // CHECK-NEXT: plan.launch @update(%{{.*}}, %[[D]], %[[T3]])
  gradus.graph @train_refresh(%x: tensor<256xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @v : tensor<256xf32>
    %0 = plan.launch @tanh(%x) items [1] grain 1 inplace [-1] : (tensor<256xf32>) -> tensor<256xf32>
    %m = plan.launch @measure(%0) items [1] grain 1 inplace [-1] : (tensor<256xf32>) -> tensor<4xf32>
    %1 = plan.launch @exp(%0) items [1] grain 1 inplace [-1] : (tensor<256xf32>) -> tensor<256xf32>
    %loss:2 = plan.launch @loss(%1) items [1] grain 1 inplace [-1, -1] : (tensor<256xf32>) -> (tensor<f32>, tensor<256xf32>)
    %g = plan.launch @backward(%loss#1, %1) items [1] grain 1 inplace [-1] : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    %inverse = plan.launch @invert(%m) items [1] grain 1 inplace [-1] : (tensor<4xf32>) -> tensor<4xf32>
    %d = plan.launch @more(%g) items [1] grain 1 inplace [-1] : (tensor<256xf32>) -> tensor<256xf32>
    %new = plan.launch @update(%w, %d, %0) items [1] grain 1 inplace [0] : (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    gradus.write @w, %inverse : tensor<4xf32>
    gradus.write @v, %new : tensor<256xf32>
    gradus.return %loss#0 : tensor<f32>
  }

  // Other graphs keep nothing.
  // CHECK-LABEL: gradus.graph @predict
  // CHECK: plan.launch @sin
  // CHECK-NOT: plan.launch @sin
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %0 = plan.launch @sin(%x) items [1] grain 1 inplace [-1] : (tensor<4xf32>) -> tensor<4xf32>
    gradus.return %0 : tensor<4xf32>
  }

  gradus.state @variant : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.schedule @train by @variant {
    gradus.variant @train every 2 at 0
    gradus.variant @train_refresh every 2 at 1
  }
}

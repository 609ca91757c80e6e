// RUN: gradus-opt %s --split-input-file --local-steps | FileCheck %s

// Ranks meet in each third step; the first keeps what all start from. States
// that follow from samples are each rank's own.
// CHECK-LABEL: gradus.program @outer
// CHECK:       gradus.state @w {{.*}}differs_along = ["data"]
// CHECK:       gradus.state @rate : tensor<f32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:       gradus.state @"local_steps/met/w" {{.*}}differs_along = ["data"]
// CHECK:       gradus.state @"local_steps/momentum/w" {{.*}}differs_along = ["data"]
// CHECK:       gradus.state @"step/variant" {{.*}}#gradus.init<constant, 2.0
// CHECK-LABEL: gradus.graph @train(
// CHECK-NOT:     all_reduce
// CHECK-LABEL: gradus.graph @train_begin(
// CHECK-NEXT:    %[[START:.*]] = gradus.read @w
// CHECK-NEXT:    gradus.write @"local_steps/met/w", %[[START]]
// CHECK-NOT:     all_reduce
// CHECK-LABEL: gradus.graph @train_meet(
// CHECK:         %[[MET:.*]] = gradus.read @"local_steps/met/w"
// CHECK:         gradus.all_reduce %new
// CHECK:         %[[MEAN:.*]] = arith.divf
// CHECK:         %[[WAY:.*]] = arith.subf %[[MET]], %[[MEAN]]
// CHECK:         gradus.write @"local_steps/momentum/w"
// CHECK:         %[[NEXT:.*]] = arith.subf %[[MET]], %{{.*}}
// CHECK:         gradus.write @"local_steps/met/w", %[[NEXT]]
// CHECK:         gradus.write @w, %[[NEXT]]
// CHECK-NOT:     all_reduce
// CHECK:         gradus.write @rate
gradus.program @outer attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local", every = 3 : i64}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @rate : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) -> () {
    %one = arith.constant dense<1.0> : tensor<f32>
    gradus.write @w, %new : tensor<4xf32>
    gradus.write @rate, %one : tensor<f32>
    gradus.return
  }
}

// -----

// A mean keeps nothing from one meeting to the next.
// CHECK-LABEL: gradus.program @mean
// CHECK-NOT:   local_steps
// CHECK-NOT:   train_begin
// CHECK-LABEL: gradus.graph @train_meet(
// CHECK:         %[[MEAN:.*]] = arith.divf
// CHECK:         gradus.write @w, %[[MEAN]]
gradus.program @mean attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local", every = 3 : i64, outer = {learning_rate = 1.0, momentum = 0.0}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) -> () {
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// -----

// One process has nobody to meet.
// CHECK-LABEL: gradus.program @alone
// CHECK-NOT:   train_meet
gradus.program @alone attributes {recipe = {distribution = {reduce = "local", every = 3 : i64}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%new: tensor<4xf32>) -> () {
    gradus.write @w, %new : tensor<4xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --gradient-accumulation --precondition | FileCheck %s

// The steps before an update's last one add up the labels that count, from 0 on
// in the first; a layer norm is divided by its curvature over all of them.
// CHECK-LABEL: gradus.program @labels
// CHECK:         gradus.state @"accumulation/labels" : tensor<f32> {differs_along = ["data"]
// CHECK:         gradus.graph @train(
// CHECK:           %[[LABELS:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<8xf32> -> tensor<f32>
// CHECK:           %[[COUNT:.*]] = arith.maximumf %[[LABELS]], %{{.*}}
// CHECK:           %[[OLD:.*]] = gradus.read @"accumulation/labels" : tensor<f32>
// CHECK:           %[[ALL:.*]] = arith.addf %[[OLD]], %[[COUNT]] : tensor<f32>
// CHECK:           %[[SPREAD:.*]] = gradus.broadcast %[[ALL]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK:           arith.divf %{{.*}}, %[[SPREAD]] : tensor<4xf32>
// CHECK:         gradus.graph @train_accumulate(
// CHECK:           %[[BEFORE:.*]] = gradus.read @"accumulation/labels" : tensor<f32>
// CHECK:           %[[BEGUN:.*]] = arith.select %{{.*}}, %{{.*}}, %[[BEFORE]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[BEGUN]], %{{.*}} : tensor<f32>
// CHECK:           gradus.write @"accumulation/labels", %[[SUM]] : tensor<f32>
gradus.program @labels attributes {recipe = {accumulation = 2 : i64, precondition = {type = "thor"}, loss = {type = "softmax_cross_entropy"}}} {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
  gradus.graph @train(%x: tensor<8x4xf32>, %label: tensor<8xi64>, %dw: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @scale, %dw : tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// On ranks the last step alone adds up what all have counted.
// CHECK-LABEL: gradus.program @ranks
// CHECK:         gradus.graph @train(
// CHECK:           %[[OWN:.*]] = arith.addf %{{.*}}, %{{.*}} : tensor<f32>
// CHECK:           gradus.all_reduce %[[OWN]]
// CHECK:         gradus.graph @train_accumulate(
// CHECK-NOT:       gradus.all_reduce
// CHECK:         gradus.schedule
gradus.program @ranks attributes {recipe = {accumulation = 2 : i64, precondition = {type = "thor"}, loss = {type = "softmax_cross_entropy"}, distribution = {mode = "data_parallel", loss_mean = "rank"}}} {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
  gradus.graph @train(%x: tensor<8x4xf32>, %label: tensor<8xi64>, %dw: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @scale, %dw : tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// A number of labels that is known is multiplied.
// CHECK-LABEL: gradus.program @known
// CHECK-NOT:     accumulation/labels
// CHECK:         gradus.graph @train(
// CHECK:           arith.constant dense<8.000000e+00> : tensor<f32>
// CHECK:           arith.constant dense<2.000000e+00> : tensor<f32>
gradus.program @known attributes {recipe = {accumulation = 2 : i64, precondition = {type = "thor"}}} {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x4xf32>, %dw: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @scale, %dw : tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// Where each rank makes an update of its own, its labels alone count.
// CHECK-LABEL: gradus.program @own_update
// CHECK-NOT:     gradus.all_reduce
// CHECK:         %[[LABELS:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<8xf32> -> tensor<f32>
// CHECK:         %[[COUNT:.*]] = arith.maximumf %[[LABELS]], %{{.*}}
// CHECK-NOT:     gradus.all_reduce
// CHECK:         %[[SPREAD:.*]] = gradus.broadcast %[[COUNT]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK:         arith.divf %{{.*}}, %[[SPREAD]] : tensor<4xf32>
gradus.program @own_update attributes {recipe = {precondition = {type = "thor"}, loss = {type = "softmax_cross_entropy"}, distribution = {mode = "data_parallel", loss_mean = "rank", reduce = "adasum", adasum = {of = "weights", within = 1 : i64}}}} {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
  gradus.graph @train(%x: tensor<8x4xf32>, %label: tensor<8xi64>, %dw: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @scale, %dw : tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// Ranks of a group make one update together, and the labels of the group count.
// CHECK-LABEL: gradus.program @pairs
// CHECK:         gradus.graph @train(
// CHECK:           %[[LABELS:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<8xf32> -> tensor<f32>
// CHECK:           %[[COUNT:.*]] = arith.maximumf %[[LABELS]], %{{.*}}
// CHECK-NEXT:      %[[SUM:.*]] = gradus.all_reduce %[[COUNT]] {groups = #gradus.groups<within 2 sum across nothing epsilon 0.000000e+00 : f64>} : tensor<f32> -> tensor<f32>
// CHECK-NOT:       gradus.all_reduce
// CHECK:           %[[SPREAD:.*]] = gradus.broadcast %[[SUM]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK:           arith.divf %{{.*}}, %[[SPREAD]] : tensor<4xf32>
gradus.program @pairs attributes {recipe = {precondition = {type = "thor"}, loss = {type = "softmax_cross_entropy"}, distribution = {mode = "data_parallel", loss_mean = "rank", reduce = "adasum", adasum = {of = "weights", within = 2 : i64}}}} {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
  gradus.graph @train(%x: tensor<8x4xf32>, %label: tensor<8xi64>, %dw: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @scale, %dw : tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// 0 stands for "host".
// CHECK-LABEL: gradus.program @hosts
// CHECK:         gradus.graph @train(
// CHECK:           %[[LABELS:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<8xf32> -> tensor<f32>
// CHECK:           %[[COUNT:.*]] = arith.maximumf %[[LABELS]], %{{.*}}
// CHECK-NEXT:      %[[SUM:.*]] = gradus.all_reduce %[[COUNT]] {groups = #gradus.groups<within 0 sum across nothing epsilon 0.000000e+00 : f64>} : tensor<f32> -> tensor<f32>
// CHECK-NOT:       gradus.all_reduce
// CHECK:           %[[SPREAD:.*]] = gradus.broadcast %[[SUM]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK:           arith.divf %{{.*}}, %[[SPREAD]] : tensor<4xf32>
gradus.program @hosts attributes {recipe = {precondition = {type = "thor"}, loss = {type = "softmax_cross_entropy"}, distribution = {mode = "data_parallel", loss_mean = "rank", reduce = "adasum", adasum = {of = "weights", within = 0 : i64}}}} {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
  gradus.graph @train(%x: tensor<8x4xf32>, %label: tensor<8xi64>, %dw: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @scale, %dw : tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

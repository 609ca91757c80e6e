// RUN: gradus-opt %s --training-step | FileCheck %s
// RUN: gradus-opt %s --training-step --training-step | FileCheck %s

// Class labels have the shape of the logits without the class axis; the model
// stays for prediction.
// CHECK-LABEL: gradus.program @classes
// CHECK:         gradus.graph @predict(%x: tensor<2x10xf32>) -> (logits: tensor<2x10xf32>) {
// CHECK:         gradus.graph @train(%x: tensor<2x10xf32>, %label: tensor<2xi64>) -> (loss: tensor<f32>, accuracy: tensor<f32>) {
// CHECK-NEXT:      %[[Y:.*]] = gradus.relu %x
// CHECK-NEXT:      %[[LOSS:.*]] = gradus.softmax_cross_entropy %[[Y]], %label axis 1 {ignore_index = -1 : i64, label_smoothing = 1.000000e-01 : f64}
// CHECK-NEXT:      %[[ACCURACY:.*]] = gradus.accuracy %[[Y]], %label axis 1 {ignore_index = -1 : i64}
// CHECK-NEXT:      gradus.return %[[LOSS]], %[[ACCURACY]]
// Padding after the first `count` samples has the label that is ignored.
// CHECK:         gradus.graph @evaluate(%x: tensor<2x10xf32>, %label: tensor<2xi64>, %count: tensor<i64>) -> (loss: tensor<f32>, accuracy: tensor<f32>) {
// CHECK-NEXT:      %[[Y:.*]] = gradus.relu %x
// CHECK-NEXT:      %[[SAMPLE:.*]] = gradus.iota axis 0 : tensor<2xi64>
// CHECK-NEXT:      %[[COUNT:.*]] = gradus.broadcast %count dims []
// CHECK-NEXT:      %[[REAL:.*]] = arith.cmpi slt, %[[SAMPLE]], %[[COUNT]]
// CHECK-NEXT:      %[[IGNORED:.*]] = arith.constant dense<-1> : tensor<2xi64>
// CHECK-NEXT:      %[[LABEL:.*]] = arith.select %[[REAL]], %label, %[[IGNORED]]
// CHECK-NEXT:      %[[LOSS:.*]] = gradus.softmax_cross_entropy %[[Y]], %[[LABEL]] axis 1
// CHECK-NEXT:      %[[ACCURACY:.*]] = gradus.accuracy %[[Y]], %[[LABEL]] axis 1
// CHECK-NEXT:      gradus.return %[[LOSS]], %[[ACCURACY]]
gradus.program @classes attributes {recipe = {
    loss = {type = "softmax_cross_entropy", output = "logits", class_axis = -1, ignore_index = -1, label_smoothing = 0.1},
    metrics = ["accuracy"]}} {
  gradus.graph @predict(%x: tensor<2x10xf32>) -> (logits: tensor<2x10xf32>) {
    %y = gradus.relu %x : tensor<2x10xf32>
    gradus.return %y : tensor<2x10xf32>
  }
}

// One label per pixel.
// CHECK-LABEL: gradus.program @pixels
// CHECK:         gradus.graph @train(%x: tensor<2x3x4x5xf32>, %label: tensor<2x4x5xi64>)
gradus.program @pixels attributes {recipe = {loss = {type = "softmax_cross_entropy"}}} {
  gradus.graph @predict(%x: tensor<2x3x4x5xf32>) -> (y: tensor<2x3x4x5xf32>) {
    gradus.return %x : tensor<2x3x4x5xf32>
  }
}

// Targets are floats of the output's shape. Where the batch is padded only the
// real samples are added up, and the mean is one over them.
// CHECK-LABEL: gradus.program @targets
// CHECK:         gradus.graph @train(%x: tensor<4x1xf32>, %label: tensor<4x1xf32>) -> (loss: tensor<f32>) {
// CHECK:           %[[LOSS:.*]] = gradus.mean_squared_error %{{.*}}, %label
// CHECK:           %[[HALF:.*]] = arith.constant dense<5.000000e-01>
// CHECK-NEXT:      %[[WEIGHED:.*]] = arith.mulf %[[LOSS]], %[[HALF]]
// CHECK-NEXT:      gradus.return %[[WEIGHED]]
// CHECK:         gradus.graph @evaluate
// CHECK:           %[[D:.*]] = arith.subf %{{.*}}, %label
// CHECK-NEXT:      %[[EACH:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK:           %[[REAL:.*]] = arith.cmpi slt
// CHECK:           %[[KEPT:.*]] = arith.select %[[REAL]], %[[EACH]], %{{.*}} : tensor<4x1xi1>, tensor<4x1xf32>
// CHECK-NEXT:      %[[SUM:.*]] = gradus.reduce sum %[[KEPT]]
// CHECK-NEXT:      %[[COUNT:.*]] = arith.sitofp %count
// CHECK:           arith.divf %[[SUM]], %[[COUNT]]
gradus.program @targets attributes {recipe = {loss = {type = "mse", weight = 0.5}}} {
  gradus.graph @predict(%x: tensor<4x1xf32>) -> (y: tensor<4x1xf32>) {
    %y = gradus.relu %x : tensor<4x1xf32>
    gradus.return %y : tensor<4x1xf32>
  }
}

// Several losses add up; each output with classes has an accuracy.
// CHECK-LABEL: gradus.program @several
// CHECK:         gradus.graph @train(%x: tensor<2x3xf32>, %label: tensor<2xi64>) -> (loss: tensor<f32>, a_accuracy: tensor<f32>, b_accuracy: tensor<f32>) {
// CHECK-NEXT:      %[[Y:.*]] = gradus.relu %x
// CHECK-NEXT:      %[[A:.*]] = gradus.softmax_cross_entropy %[[Y]], %label axis 1
// CHECK-NEXT:      %[[B:.*]] = gradus.softmax_cross_entropy %x, %label axis 1
// CHECK-NEXT:      %[[PART:.*]] = arith.constant dense<2.500000e-01>
// CHECK-NEXT:      %[[WEIGHED:.*]] = arith.mulf %[[B]], %[[PART]]
// CHECK-NEXT:      %[[LOSS:.*]] = arith.addf %[[A]], %[[WEIGHED]]
// CHECK-NEXT:      %[[AA:.*]] = gradus.accuracy %[[Y]], %label
// CHECK-NEXT:      %[[BA:.*]] = gradus.accuracy %x, %label
// CHECK-NEXT:      gradus.return %[[LOSS]], %[[AA]], %[[BA]]
gradus.program @several attributes {recipe = {metrics = ["accuracy"], loss = {type = "sum", of = [
    {type = "softmax_cross_entropy", output = "a"},
    {type = "softmax_cross_entropy", output = "b", weight = 0.25}]}}} {
  gradus.graph @predict(%x: tensor<2x3xf32>) -> (a: tensor<2x3xf32>, b: tensor<2x3xf32>) {
    %y = gradus.relu %x : tensor<2x3xf32>
    gradus.return %y, %x : tensor<2x3xf32>, tensor<2x3xf32>
  }
}

// A program without a recipe is there to predict.
// CHECK-LABEL: gradus.program @no_recipe
// CHECK-NOT:     @train
gradus.program @no_recipe {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

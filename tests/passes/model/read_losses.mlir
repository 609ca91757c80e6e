// RUN: gradus-opt %s --training-step | FileCheck %s

// Classes: without the class axis, wherever it is; probabilities: as the output.
// CHECK-LABEL: gradus.program @axis
// CHECK:         gradus.graph @train(%x: tensor<2x5x10xf32>, %label: tensor<2x5xi64>)
gradus.program @axis attributes {recipe = {loss = {type = "nll", class_axis = -1}}} {
  gradus.graph @predict(%x: tensor<2x5x10xf32>) -> (y: tensor<2x5x10xf32>) {
    gradus.return %x : tensor<2x5x10xf32>
  }
}

// An output that begins with another axis than the samples' may have its classes there.
// CHECK-LABEL: gradus.program @classes_first
// CHECK:         gradus.graph @train(%x: tensor<2x5xf32>, %label: tensor<2xi64>)
gradus.program @classes_first attributes {recipe = {loss = {type = "nll", class_axis = 0}}} {
  gradus.graph @predict(%x: tensor<2x5xf32>) -> (y: tensor<5x2xf32>) {
    %y = gradus.transpose %x perm [1, 0] : tensor<2x5xf32> -> tensor<5x2xf32>
    gradus.return %y : tensor<5x2xf32>
  }
}

// CHECK-LABEL: gradus.program @probabilities
// CHECK:         gradus.graph @train(%x: tensor<2x10xf32>, %label: tensor<2x10xf32>)
gradus.program @probabilities attributes {recipe = {loss = {type = "softmax_cross_entropy", soft_labels = true}}} {
  gradus.graph @predict(%x: tensor<2x10xf32>) -> (y: tensor<2x10xf32>) {
    gradus.return %x : tensor<2x10xf32>
  }
}

// Heads that have the same labels share them; others have names of their own.
// CHECK-LABEL: gradus.program @heads
// CHECK:         gradus.graph @train(%x: tensor<2x10xf32>, %label: tensor<2xi64>, %box: tensor<2x4xf32>) -> (loss: tensor<f32>) {
// CHECK:         gradus.graph @evaluate(%x: tensor<2x10xf32>, %label: tensor<2xi64>, %box: tensor<2x4xf32>, %count: tensor<i64>)
gradus.program @heads attributes {recipe = {loss = {type = "sum", of = [
    {type = "softmax_cross_entropy", output = "logits"},
    {type = "softmax_cross_entropy", output = "early", weight = 0.3},
    {type = "smooth_l1", output = "place", label = "box"}]}}} {
  gradus.state @w : tensor<10x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x10xf32>) -> (logits: tensor<2x10xf32>, early: tensor<2x10xf32>, place: tensor<2x4xf32>) {
    %w = gradus.read @w : tensor<10x4xf32>
    %place = gradus.matmul %x, %w : tensor<2x10xf32>, tensor<10x4xf32> -> tensor<2x4xf32>
    gradus.return %x, %x, %place : tensor<2x10xf32>, tensor<2x10xf32>, tensor<2x4xf32>
  }
}

// An autoencoder's input is its label.
// CHECK-LABEL: gradus.program @autoencoder
// CHECK:         gradus.graph @train(%x: tensor<2x10xf32>) -> (loss: tensor<f32>) {
// CHECK-NEXT:      %[[Y:.*]] = gradus.relu %x
// CHECK-NEXT:      gradus.mean_squared_error %[[Y]], %x
gradus.program @autoencoder attributes {recipe = {loss = {type = "mse", label = "x"}}} {
  gradus.graph @predict(%x: tensor<2x10xf32>) -> (y: tensor<2x10xf32>) {
    %y = gradus.relu %x : tensor<2x10xf32>
    gradus.return %y : tensor<2x10xf32>
  }
}

// A model that has computed its loss: the output `loss`, unless one is named.
// Padding cannot be told from it afterwards, so there is no `count`.
// CHECK-LABEL: gradus.program @itself
// CHECK:         gradus.graph @train(%x: tensor<2x10xf32>, %label: tensor<2xi64>) -> (loss: tensor<f32>) {
// CHECK-NEXT:      %[[LOSS:.*]] = gradus.softmax_cross_entropy
// CHECK-NEXT:      gradus.return %[[LOSS]]
// CHECK:         gradus.graph @evaluate(%x: tensor<2x10xf32>, %label: tensor<2xi64>) -> (loss: tensor<f32>) {
gradus.program @itself attributes {recipe = {loss = {type = "output"}}} {
  gradus.graph @predict(%x: tensor<2x10xf32>, %label: tensor<2xi64>) -> (y: tensor<2x10xf32>, loss: tensor<f32>) {
    %loss = gradus.softmax_cross_entropy %x, %label axis 1 : tensor<2x10xf32>, tensor<2xi64> -> tensor<f32>
    gradus.return %x, %loss : tensor<2x10xf32>, tensor<f32>
  }
}

// Without a word of the recipe the classes are along axis 1, but of three axes
// only where nothing speaks for the last: here it has no several classes.
// CHECK-LABEL: gradus.program @one_position
// CHECK:         gradus.graph @train(%x: tensor<2x5x1xf32>, %label: tensor<2x1xi64>)
gradus.program @one_position attributes {recipe = {loss = {type = "nll"}}} {
  gradus.graph @predict(%x: tensor<2x5x1xf32>) -> (y: tensor<2x5x1xf32>) {
    gradus.return %x : tensor<2x5x1xf32>
  }
}

// Here labels of the model's inputs lack the last axis.
// CHECK-LABEL: gradus.program @tokens
// CHECK:         gradus.graph @train(%x: tensor<2x5x10xf32>, %next: tensor<2x5xi64>) -> (loss: tensor<f32>)
// CHECK:         gradus.softmax_cross_entropy %x, %next axis 2
gradus.program @tokens attributes {recipe = {loss = {type = "softmax_cross_entropy", label = "next"}}} {
  gradus.graph @predict(%x: tensor<2x5x10xf32>, %next: tensor<2x5xi64>) -> (y: tensor<2x5x10xf32>) {
    gradus.return %x : tensor<2x5x10xf32>
  }
}

// And here weights of five classes lie along axis 1.
// CHECK-LABEL: gradus.program @weighted
// CHECK:         gradus.graph @train(%x: tensor<2x5x10xf32>, %label: tensor<2x10xi64>)
gradus.program @weighted attributes {recipe = {loss = {type = "nll", class_weights = [1.0, 1.0, 1.0, 1.0, 2.0]}}} {
  gradus.graph @predict(%x: tensor<2x5x10xf32>) -> (y: tensor<2x5x10xf32>) {
    gradus.return %x : tensor<2x5x10xf32>
  }
}

// Images are the convention's.
// CHECK-LABEL: gradus.program @images
// CHECK:         gradus.graph @train(%x: tensor<2x5x4x4xf32>, %label: tensor<2x4x4xi64>)
gradus.program @images attributes {recipe = {loss = {type = "nll"}}} {
  gradus.graph @predict(%x: tensor<2x5x4x4xf32>) -> (y: tensor<2x5x4x4xf32>) {
    gradus.return %x : tensor<2x5x4x4xf32>
  }
}

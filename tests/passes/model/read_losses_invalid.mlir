// RUN: gradus-opt %s --training-step --split-input-file --verify-diagnostics

// The types there are come nearest first.
// expected-error @below {{recipe: loss.type: unknown value "mae"; did you mean "l1"?}}
gradus.program @unknown_type attributes {recipe = {loss = {type = "mae"}}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

// -----

// A term of a sum is named by its place.
// expected-error @below {{recipe: loss.of[1].output is "logit", but the model's outputs are: logits, features}}
gradus.program @unknown_output attributes {recipe = {loss = {type = "sum", of = [
    {type = "mse", output = "features"}, {type = "mse", output = "logit"}]}}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (features: tensor<4xf32>, logits: tensor<4xf32>) {
    gradus.return %x, %x : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.output is missing; the model has 2 outputs: b, a2}}
gradus.program @which_output attributes {recipe = {loss = {type = "mse"}}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (a2: tensor<4xf32>, b: tensor<4xf32>) {
    gradus.return %x, %x : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.output is missing; the model has 2 outputs: cost, logits}}
gradus.program @which_output_is_the_loss attributes {recipe = {loss = {type = "output"}}} {
  gradus.graph @predict(%x: tensor<f32>) -> (cost: tensor<f32>, logits: tensor<f32>) {
    gradus.return %x, %x : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: loss.output has type 'tensor<4xi64>', expected a tensor of floats}}
gradus.program @integers attributes {recipe = {loss = {type = "mse"}}} {
  gradus.graph @predict(%x: tensor<4xi64>) -> (y: tensor<4xi64>) {
    gradus.return %x : tensor<4xi64>
  }
}

// -----

// expected-error @below {{recipe: loss.class_axis is 1, but the output is 'tensor<4xf32>', of rank 1}}
gradus.program @no_class_axis attributes {recipe = {loss = {type = "softmax_cross_entropy"}}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

// -----

// The axis of the samples holds no classes, from whichever end it is counted.
// expected-error @below {{recipe: loss.class_axis is 0, the axis of the samples of the output 'tensor<2x5xf32>'; expected that of its classes}}
gradus.program @samples_for_classes attributes {recipe = {loss = {type = "softmax_cross_entropy", class_axis = 0}}} {
  gradus.graph @predict(%x: tensor<2x5xf32>) -> (y: tensor<2x5xf32>) {
    gradus.return %x : tensor<2x5xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.class_axis is -2, the axis of the samples}}
gradus.program @samples_from_the_end attributes {recipe = {loss = {type = "nll", class_axis = -2}}} {
  gradus.graph @predict(%x: tensor<2x5xf32>) -> (y: tensor<2x5xf32>) {
    gradus.return %x : tensor<2x5xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.class_weights has 3 numbers, but the output is 'tensor<2x10x4xf32>', with 10 classes along axis 1}}
gradus.program @class_weights attributes {recipe = {loss = {type = "nll", class_weights = [1.0, 2.0, 3.0]}}} {
  gradus.graph @predict(%x: tensor<2x10x4xf32>) -> (y: tensor<2x10x4xf32>) {
    gradus.return %x : tensor<2x10x4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.pos_weight has 2 numbers, expected 1 or the size of the last axis of the output 'tensor<2x4xf32>'}}
gradus.program @positive_weights attributes {recipe = {loss = {type = "bce_with_logits", pos_weight = [1.0, 2.0]}}} {
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    gradus.return %x : tensor<2x4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.reduction: unknown value "batchmean"; known: mean, sum}}
gradus.program @reduction attributes {recipe = {loss = {type = "l1", reduction = "batchmean"}}} {
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    gradus.return %x : tensor<2x4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.of is empty, expected the losses to add up}}
gradus.program @empty_sum attributes {recipe = {loss = {type = "sum", of = []}}} {
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    gradus.return %x : tensor<2x4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.of[1].label is "label", of type 'tensor<2x3xf32>', but for the output "logits" it is 'tensor<2xi64>'; give the losses labels of different names}}
gradus.program @labels_of_two_kinds attributes {recipe = {loss = {type = "sum", of = [
    {type = "softmax_cross_entropy", output = "logits"}, {type = "mse", output = "place"}]}}} {
  gradus.graph @predict(%x: tensor<2x3xf32>) -> (logits: tensor<2x3xf32>, place: tensor<2x3xf32>) {
    gradus.return %x, %x : tensor<2x3xf32>, tensor<2x3xf32>
  }
}

// -----

gradus.program @taken_name attributes {recipe = {loss = {type = "mse"}}} {
  // expected-error @below {{has an input named "label", the name of an input that training adds; rename the model's}}
  gradus.graph @predict(%label: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %label : tensor<4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.label is "x", an input of the model of type 'tensor<2x4xf32>', but the labels of "y" have type 'tensor<2xi64>'}}
gradus.program @input_as_label attributes {recipe = {loss = {type = "nll", label = "x"}}} {
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    gradus.return %x : tensor<2x4xf32>
  }
}

// -----

// Tokens or channels: only the recipe can say.
// expected-error @below {{recipe: loss.class_axis is missing, and two axes of the output "y" may be the classes: say 1 for [2, 64 classes, 64], or -1 for [2, 64, 64 classes], as of tokens}}
gradus.program @open_class_axis attributes {recipe = {loss = {type = "softmax_cross_entropy"}}} {
  gradus.graph @predict(%x: tensor<2x64x64xf32>) -> (y: tensor<2x64x64xf32>) {
    gradus.return %x : tensor<2x64x64xf32>
  }
}

// -----

// Labels of the model's inputs do not tell where they fit both ways.
// expected-error @below {{recipe: loss.class_axis is missing}}
gradus.program @labels_fit_both_axes attributes {recipe = {loss = {type = "nll", label = "next"}}} {
  gradus.graph @predict(%x: tensor<2x8x8xf32>, %next: tensor<2x8xi64>) -> (y: tensor<2x8x8xf32>) {
    gradus.return %x : tensor<2x8x8xf32>
  }
}

// -----

// Probabilities have the output's shape either way.
// expected-error @below {{recipe: loss.class_axis is missing, and two axes of the output "y" may be the classes: say 1 for [2, 5 classes, 10], or -1 for [2, 5, 10 classes], as of tokens}}
gradus.program @soft_labels attributes {recipe = {loss = {type = "softmax_cross_entropy", soft_labels = true}}} {
  gradus.graph @predict(%x: tensor<2x5x10xf32>) -> (y: tensor<2x5x10xf32>) {
    gradus.return %x : tensor<2x5x10xf32>
  }
}

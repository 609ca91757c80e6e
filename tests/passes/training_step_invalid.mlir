// RUN: gradus-opt %s --training-step --split-input-file --verify-diagnostics

// expected-error @below {{recipe: loss.type is "mae", expected one of: mse, softmax_cross_entropy}}
gradus.program @unknown_loss attributes {recipe = {loss = {type = "mae"}}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

// -----

// The names there are come nearest first.
// expected-error @below {{recipe: loss.output is "logit", but the model's outputs are: logits, features}}
gradus.program @unknown_output attributes {recipe = {loss = {type = "mse", output = "logit"}}} {
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

// expected-error @below {{recipe: metrics has accuracy, which needs classes, but loss.type is mse}}
gradus.program @accuracy_of_numbers attributes {recipe = {loss = {type = "mse"}, metrics = ["accuracy"]}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{recipe: metrics has "recall", expected: accuracy}}
gradus.program @unknown_metric attributes {recipe = {loss = {type = "mse"}, metrics = ["recall"]}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
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

// expected-error @below {{has no graph @predict to train}}
gradus.program @no_model attributes {recipe = {loss = {type = "mse"}}} {
}

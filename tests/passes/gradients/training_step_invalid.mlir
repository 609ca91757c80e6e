// RUN: gradus-opt %s --training-step --split-input-file --verify-diagnostics

// expected-error @below {{recipe: metrics: "accuracy" needs labels that are classes, but loss.type is "mse"}}
gradus.program @accuracy_of_numbers attributes {recipe = {loss = {type = "mse"}, metrics = ["accuracy"]}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{recipe: metrics.0: unknown value "bleu"; known: accuracy, top5, gradient_norm, learning_rate}}
gradus.program @unknown_metric attributes {recipe = {loss = {type = "mse"}, metrics = ["bleu"]}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

// -----

gradus.program @taken_name attributes {recipe = {loss = {type = "mse"}}} {
  // expected-error @below {{has an input named "count", the name of an input that training adds; rename the model's}}
  gradus.graph @predict(%count: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %count : tensor<4xf32>
  }
}

// -----

// expected-error @below {{has no graph @predict to train}}
gradus.program @no_model attributes {recipe = {loss = {type = "mse"}}} {
}

// -----

// expected-error @below {{recipe: loss.label is "count", the name of an input that training adds; choose another}}
gradus.program @taken_label attributes {recipe = {loss = {type = "mse", label = "count"}}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{recipe: loss.delta is not above 0}}
gradus.program @flat_huber attributes {recipe = {loss = {type = "huber", delta = 0.0}}} {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

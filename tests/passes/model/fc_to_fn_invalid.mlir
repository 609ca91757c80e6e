// RUN: gradus-opt %s --fc-to-fn --verify-diagnostics --split-input-file

// expected-error @below {{recipe: fc_to_fn finds no dense layer with a weight of its own that gives the output "y", but for activations behind it}}
gradus.program @sum attributes {recipe = {fc_to_fn = {}}} {
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    %y = arith.addf %x, %x : tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
}

// -----

// expected-error @below {{recipe: fc_to_fn needs one output to look for the last layer from; the model has 2, and loss.output names none}}
gradus.program @two attributes {recipe = {fc_to_fn = {}}} {
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>, z: tensor<2x4xf32>) {
    gradus.return %x, %x : tensor<2x4xf32>, tensor<2x4xf32>
  }
}

// -----

gradus.program @taken attributes {recipe = {fc_to_fn = {}}} {
  gradus.state @fc.weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // expected-error @below {{is the model's, but training keeps parameter of type 'tensor<1xf32>' under that name; rename it in the model}}
  gradus.state @fc.multiplier : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @fc.weight : tensor<8x4xf32>
    %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    gradus.return %y : tensor<2x8xf32>
  }
}

// RUN: gradus-opt %s --train-dropout --split-input-file --verify-diagnostics

// expected-error @below {{recipe: dropout: expected a number, found "0.5"}}
gradus.program @words attributes {recipe = {dropout = "0.5"}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %y = gradus.dropout %x ratio 0.25 : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

// A model that only draws numbers of its own drops nothing.
// expected-warning @below {{recipe: dropout changes nothing: the model has no dropout that could take it}}
gradus.program @noisy attributes {recipe = {dropout = 0.5}} {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (y: tensor<4xi64>) {
    %step = gradus.read @step : tensor<i64>
    %y = gradus.random_bits %step stream 16777216 seed 0 : tensor<4xi64>
    gradus.return %y : tensor<4xi64>
  }
}

// -----

// One that drops already has been told before.
gradus.program @told attributes {recipe = {dropout = 0.5}} {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (y: tensor<4xi64>) {
    %step = gradus.read @step : tensor<i64>
    %y = gradus.random_bits %step stream 0 seed 0 : tensor<4xi64>
    gradus.return %y : tensor<4xi64>
  }
}

// -----

// expected-warning @below {{recipe: dropout leaves 1 Bernoulli mask of the model alone (stochastic depth, or dropout of channels as torch.export writes it): the chance stays the model's, and only 0 stops it}}
gradus.program @mask attributes {recipe = {dropout = 0.5}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %stay = gradus.dropout %one ratio 0.2 : tensor<4xf32>
    %grown = arith.cmpf ogt, %stay, %one : tensor<4xf32>
    %y = arith.select %grown, %x, %one : tensor<4xi1>, tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

// The same, stopped, needs no word.
gradus.program @idle attributes {recipe = {dropout = 0.0}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %stay = gradus.dropout %one ratio 0.2 : tensor<4xf32>
    %grown = arith.cmpf ogt, %stay, %one : tensor<4xf32>
    %y = arith.select %grown, %x, %one : tensor<4xi1>, tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// RUN: gradus-opt %s --train-dropout --split-input-file --verify-diagnostics

// expected-error @below {{recipe: dropout is "0.5", expected a number}}
gradus.program @words attributes {recipe = {dropout = "0.5"}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %y = gradus.dropout %x ratio 0.25 : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

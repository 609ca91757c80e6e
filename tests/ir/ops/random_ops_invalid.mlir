// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has ratio 1.500000e+00, expected 0 to 1}}
    %y = gradus.dropout %x ratio 1.5 : tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%s: tensor<2xi64>) {
    // expected-error @below {{operand #0 must be tensor<i64>, but got 'tensor<2xi64>'}}
    %y = "gradus.random_bits"(%s) {stream = 0 : i64, seed = 0 : i64} : (tensor<2xi64>) -> tensor<4xi64>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%s: tensor<i64>) {
    // expected-error @below {{result #0 must be static ranked tensor of 64-bit signless integer values, but got 'tensor<4xi32>'}}
    %y = gradus.random_bits %s stream 0 seed 0 : tensor<4xi32>
    gradus.return
  }
}

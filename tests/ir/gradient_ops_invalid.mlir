// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<3xf32>, %s: tensor<4xf32>) {
    // expected-error @below {{requires the same type for all operands and results}}
    %y = "gradus.stop_gradient"(%x, %s) : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<3xi64>) {
    // expected-error @below {{operand #0 must be static ranked tensor of floating-point values, but got 'tensor<3xi64>'}}
    %y = "gradus.stop_gradient"(%x) : (tensor<3xi64>) -> tensor<3xi64>
    gradus.return
  }
}

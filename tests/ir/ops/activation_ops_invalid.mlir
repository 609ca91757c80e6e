// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4xi64>) {
    // expected-error @below {{operand #0 must be static ranked tensor of floating-point values, but got 'tensor<4xi64>'}}
    %y = gradus.clip %x from 0.0 to 1.0 : tensor<4xi64>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xi64>) {
    // expected-error @below {{operand #0 must be static ranked tensor of floating-point values, but got 'tensor<4xi64>'}}
    %y = gradus.leaky_relu %x slope 0.1 : tensor<4xi64>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{requires the same type for all operands and results}}
    %y = "gradus.leaky_relu"(%x) {slope = 0.1 : f64} : (tensor<4xf32>) -> tensor<5xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{requires the same type for all operands and results}}
    %y = "gradus.clip"(%x) {low = 0.0 : f64, high = 1.0 : f64} : (tensor<4xf32>) -> tensor<2x2xf32>
    gradus.return
  }
}

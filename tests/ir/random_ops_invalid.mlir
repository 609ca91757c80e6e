// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has ratio 1.500000e+00, expected 0 to 1}}
    %y = gradus.dropout %x ratio 1.5 : tensor<4xf32>
    gradus.return
  }
}

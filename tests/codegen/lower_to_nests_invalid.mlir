// RUN: gradus-opt %s --lower-to-nests --verify-diagnostics

gradus.program @p {
  gradus.graph @loss(%x: tensor<4x8xf32>, %label: tensor<4xi64>) -> (y: tensor<f32>) {
    // expected-error @below {{code generation has no loop nest for 'gradus.softmax_cross_entropy'}}
    %0 = gradus.softmax_cross_entropy %x, %label axis 1 : tensor<4x8xf32>, tensor<4xi64> -> tensor<f32>
    gradus.return %0 : tensor<f32>
  }
}

// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
    // expected-error @below {{has momentum 2.000000e+00, expected 0 to 1}}
    %y = gradus.batch_norm %x, %s, %s mean %s variance %s epsilon 0.0 momentum 2.0 : tensor<2x3xf32>, tensor<3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>) {
    // expected-error @below {{has a scale of type 'tensor<4xf32>', expected one element for each of the 3 channels}}
    %y, %m, %v = gradus.batch_norm_training %x, %s, %s epsilon 0.0 : tensor<2x3x4xf32>, tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %s: tensor<2xf32>) {
    // expected-error @below {{has a scale of type 'tensor<2xf32>', expected one element for each of the 3 channels}}
    %y, %u, %v = gradus.batch_norm_backward %g, %x, %s mean %s variance %s epsilon 0.0 : tensor<2x3x4xf32>, tensor<2xf32>
    gradus.return
  }
}

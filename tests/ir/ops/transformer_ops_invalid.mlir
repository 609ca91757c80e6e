// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4x6xf32>) {
    // expected-error @below {{axis 2 is out of range for 'tensor<4x6xf32>'}}
    %y = gradus.softmax %x axis 2 : tensor<4x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x6xf32>, %s: tensor<4xf32>) {
    // expected-error @below {{has the scale 'tensor<4xf32>', expected the last dimensions of 'tensor<4x6xf32>'}}
    %y = gradus.layer_norm %x, %s {epsilon = 1.0 : f64} : tensor<4x6xf32>, tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<4x6xf32>) {
    // expected-error @below {{has the bias 'tensor<4x6xf32>' beside the scale 'tensor<6xf32>'}}
    %y = gradus.layer_norm %x, %s plus %b {epsilon = 1.0 : f64} : tensor<4x6xf32>, tensor<6xf32>, tensor<4x6xf32>
    gradus.return
  }
}

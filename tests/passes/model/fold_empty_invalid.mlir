// RUN: gradus-opt %s --fold-empty --verify-diagnostics --split-input-file

gradus.program @gather {
  gradus.graph @predict(%x: tensor<3x4xf32>, %at: tensor<2xi64>) -> (y: tensor<2x4xf32>) {
    %none = gradus.slice %x starts [0, 0] steps [1, 1] : tensor<3x4xf32> -> tensor<0x4xf32>
    // expected-error @below {{computes with a tensor that has no elements, which is not supported}}
    %y = gradus.gather %none at %at axis 0 : tensor<0x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
}

// -----

gradus.program @large {
  gradus.graph @predict(%x: tensor<3xf32>) -> (y: tensor<8192x8192xf32>) {
    %a = gradus.slice %x starts [0] steps [1] : tensor<3xf32> -> tensor<0xf32>
    %b = gradus.reshape %a : tensor<0xf32> -> tensor<8192x0xf32>
    // expected-error @below {{makes 67108864 elements of none, which is not supported}}
    %y = gradus.matmul %b, %b transposed : tensor<8192x0xf32>, tensor<8192x0xf32> -> tensor<8192x8192xf32>
    gradus.return %y : tensor<8192x8192xf32>
  }
}

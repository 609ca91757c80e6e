// RUN: gradus-opt %s --split-input-file --lower-to-nests --verify-diagnostics

gradus.program @p {
  gradus.graph @loss(%x: tensor<4x8xf32>, %label: tensor<4xi64>) -> (y: tensor<f32>) {
    // expected-error @below {{code generation has no loop nest for 'gradus.softmax_cross_entropy'}}
    %0 = gradus.softmax_cross_entropy %x, %label axis 1 : tensor<4x8xf32>, tensor<4xi64> -> tensor<f32>
    gradus.return %0 : tensor<f32>
  }
}

// -----

// No target has code for it.
gradus.program @p {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{code generation has no loop nest for 'math.cbrt'}}
    %0 = math.cbrt %x : tensor<4xf32>
    gradus.return %0 : tensor<4xf32>
  }
}

// -----

// Fusion would leave no tensor of that type.
gradus.program @p {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{'arith.truncf' has elements of type f8E4M3FN, which no target has code for}}
    %0 = arith.truncf %x : tensor<4xf32> to tensor<4xf8E4M3FN>
    %1 = arith.extf %0 : tensor<4xf8E4M3FN> to tensor<4xf32>
    gradus.return %1 : tensor<4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @predict(%x: tensor<4xi7>) -> (y: tensor<2x4xi7>) {
    // expected-error @below {{'gradus.broadcast' has elements of type i7, which no target has code for}}
    %0 = gradus.broadcast %x dims [1] : tensor<4xi7> -> tensor<2x4xi7>
    gradus.return %0 : tensor<2x4xi7>
  }
}

// -----

// The pass fold-empty has replaced such a sum.
gradus.program @p {
  gradus.graph @predict(%x: tensor<0x4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{'gradus.reduce' combines the elements along a dimension of size 0, of which there are none}}
    %y = gradus.reduce sum %x axes [0] : tensor<0x4xf32> -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

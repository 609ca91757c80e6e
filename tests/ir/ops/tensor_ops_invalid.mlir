// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<2x6xf32>) {
    // expected-error @below {{makes 'tensor<5xf32>' of 'tensor<2x6xf32>', which has 12 elements}}
    %y = gradus.reshape %x : tensor<2x6xf32> -> tensor<5xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2xf32>) {
    // expected-error @below {{changes the element type of 'tensor<2xf32>' to 'tensor<2xi32>'}}
    %y = gradus.reshape %x : tensor<2xf32> -> tensor<2xi32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3xf32>) {
    // expected-error @below {{has permutation [0, 0], expected each of the 2 dimensions of the input once}}
    %y = gradus.transpose %x perm [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3xf32>) {
    // expected-error @below {{expected a result of type 'tensor<3x2xf32>', found 'tensor<2x3xf32>'}}
    %y = gradus.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<3xf32>) {
    // expected-error @below {{has 2 dims for an input of rank 1}}
    %y = gradus.broadcast %x dims [0, 1] : tensor<3xf32> -> tensor<3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<3xf32>) {
    // expected-error @below {{puts dimension 0 of the input at 2 of the result, which has rank 2}}
    %y = gradus.broadcast %x dims [2] : tensor<3xf32> -> tensor<3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<3xf32>) {
    // expected-error @below {{cannot repeat dimension 0 of the input, of size 3, to size 4}}
    %y = gradus.broadcast %x dims [1] : tensor<3xf32> -> tensor<2x4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3xf32>) {
    // expected-error @below {{axis 2 is out of range for 'tensor<2x3xf32>', which has rank 2}}
    %y = gradus.reduce sum %x axes [2] : tensor<2x3xf32> -> tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3xf32>) {
    // expected-error @below {{expected a result of type 'tensor<2xf32>', found 'tensor<2x1xf32>'}}
    %y = gradus.reduce sum %x axes [1] : tensor<2x3xf32> -> tensor<2x1xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3xi32>) {
    // expected-error @below {{takes the mean of 'tensor<2x3xi32>', expected floats}}
    %y = gradus.reduce mean %x axes [1] : tensor<2x3xi32> -> tensor<2xi32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g() {
    // expected-error @below {{axis 1 is out of range for 'tensor<3xi64>'}}
    %y = gradus.iota axis 1 : tensor<3xi64>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
    // expected-error @below {{multiplies 3 columns of 'tensor<2x3xf32>' by 4 rows of 'tensor<4x5xf32>'}}
    %y = gradus.matmul %a, %b : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
    // expected-error @below {{multiplies 3 columns of 'tensor<2x3xf32>' by 5 rows of 'tensor<4x5xf32>' transposed}}
    %y = gradus.matmul %a, %b transposed : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%a: tensor<2x2x3xf32>, %b: tensor<3x3x5xf32>) {
    // expected-error @below {{expected equal batch dimensions, found 'tensor<2x2x3xf32>' and 'tensor<3x3x5xf32>'}}
    %y = gradus.matmul %a, %b : tensor<2x2x3xf32>, tensor<3x3x5xf32> -> tensor<2x2x5xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%a: tensor<2xf32>, %b: tensor<2xf32>) {
    // expected-error @below {{expected two operands of one element type and one rank of at least 2, found 'tensor<2xf32>' and 'tensor<2xf32>'}}
    %y = gradus.matmul %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<f32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xi32>) {
    // expected-error @below {{operand #0 must be static ranked tensor of floating-point values, but got 'tensor<4xi32>'}}
    %y = gradus.relu %x : tensor<4xi32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{requires the same type for all operands and results}}
    %y = "gradus.sigmoid"(%x) : (tensor<4xf32>) -> tensor<5xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xi1>) {
    // expected-error @below {{operand #0 must be static ranked tensor of floating-point values, but got 'tensor<4xi1>'}}
    %y = gradus.gelu %x : tensor<4xi1>
    gradus.return
  }
}

// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4x6xf32>) {
    // expected-error @below {{takes elements 3 to 5 in steps of 2 along dimension 0, which has size 4}}
    %y = gradus.slice %x starts [3, 0] steps [2, 1] : tensor<4x6xf32> -> tensor<2x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x6xf32>) {
    // expected-error @below {{has 1 starts for a tensor of rank 2}}
    %y = gradus.slice %x starts [3] steps [2, 1] : tensor<4x6xf32> -> tensor<2x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x6xf32>) {
    // expected-error @below {{makes 'tensor<2xf32>' of 'tensor<4x6xf32>', expected the same rank and element type}}
    %y = gradus.slice %x starts [0, 0] steps [2, 1] : tensor<4x6xf32> -> tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has low [-1], expected nothing below 0}}
    %y = gradus.pad %x low [-1] high [1] interior [0] : tensor<4xf32> -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{expected a result of type 'tensor<8xf32>', found 'tensor<9xf32>'}}
    %y = gradus.pad %x low [0] high [1] interior [1] : tensor<4xf32> -> tensor<9xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x2xf32>, %y: tensor<3x3xf32>) {
    // expected-error @below {{puts 'tensor<3x3xf32>' beside 'tensor<4x2xf32>', which differ in more than dimension 1}}
    %z = gradus.concatenate %x, %y axis 1 : tensor<4x2xf32>, tensor<3x3xf32> -> tensor<4x5xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x2xf32>, %i: tensor<3xi64>) {
    // expected-error @below {{axis 2 is out of range for 'tensor<4x2xf32>'}}
    %z = gradus.gather %x at %i axis 2 : tensor<4x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x2xf32>, %i: tensor<3xi64>) {
    // expected-error @below {{expected a result of type 'tensor<3x2xf32>', found 'tensor<4x3xf32>'}}
    %z = gradus.gather %x at %i axis 0 : tensor<4x2xf32>, tensor<3xi64> -> tensor<4x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x2xf32>, %i: tensor<3xi64>) {
    // expected-error @below {{has 1 batch dimensions, which 'tensor<4x2xf32>' and 'tensor<3xi64>' do not share before axis 1}}
    %z = gradus.gather %x at %i axis 1 batch 1 : tensor<4x2xf32>, tensor<3xi64> -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x2xf32>, %i: tensor<3xi64>) {
    // expected-error @below {{expected updates of type 'tensor<3x2xf32>', found 'tensor<4x2xf32>'}}
    %z = gradus.scatter_add %x at %i axis 0 : tensor<4x2xf32>, tensor<3xi64> -> tensor<9x2xf32>
    gradus.return
  }
}

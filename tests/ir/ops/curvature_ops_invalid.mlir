// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<8x3xf32>) {
    // expected-error @below {{expected an axis or a window, found neither}}
    %y = gradus.gram %x block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3x8xf32>) {
    // expected-error @below {{expected an axis or a window, found both}}
    %y = gradus.gram %x axis 1 window [3] strides [1] pads [0] to [0] dilations [1] block 9 : tensor<2x3x8xf32> -> tensor<1x9x9xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8x3xf32>) {
    // expected-error @below {{has its columns along axis 2 of 'tensor<8x3xf32>'}}
    %y = gradus.gram %x axis 2 block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8x3xf32>) {
    // expected-error @below {{slides a window over 'tensor<8x3xf32>', expected an image [N, C, spatial...]}}
    %y = gradus.gram %x window [3] strides [1] pads [0] to [0] dilations [1] block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3x8xf32>) {
    // expected-error @below {{has 2 strides for 1 spatial dimensions}}
    %y = gradus.gram %x window [3] strides [1, 1] pads [0] to [0] dilations [1] block 9 : tensor<2x3x8xf32> -> tensor<1x9x9xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x3x8xf32>) {
    // expected-error @below {{has a window that reaches over 9 elements of spatial dimension 0, whose padded size is 8}}
    %y = gradus.gram %x window [9] strides [1] pads [0] to [0] dilations [1] block 27 : tensor<2x3x8xf32> -> tensor<1x27x27xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8x3xf32>) {
    // expected-error @below {{has blocks of 0 columns, expected at least 1}}
    %y = gradus.gram %x axis 1 block 0 : tensor<8x3xf32> -> tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8x3xf32>) {
    // expected-error @below {{has 2 groups, which do not divide 3 channels}}
    %y = gradus.gram %x axis 1 groups 2 block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8x5xf32>) {
    // expected-error @below {{expected a result of type 'tensor<2x3x3xf32>', found 'tensor<1x3x3xf32>'}}
    %y = gradus.gram %x axis 1 block 3 : tensor<8x5xf32> -> tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8x3xbf16>) {
    // expected-error @below {{expected a result of type 'tensor<1x3x3xf32>', found 'tensor<1x3x3xbf16>'}}
    %y = gradus.gram %x axis 1 block 3 : tensor<8x3xbf16> -> tensor<1x3x3xbf16>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{expected square matrices in the last two dimensions, found 'tensor<4xf32>'}}
    %y = gradus.inverse %x : tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x3xf32>) {
    // expected-error @below {{expected square matrices in the last two dimensions, found 'tensor<2x4x3xf32>'}}
    %y = gradus.inverse %x : tensor<2x4x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<513x513xf32>) {
    // expected-error @below {{has matrices of 513 rows, expected at most 512}}
    %y = gradus.inverse %x : tensor<513x513xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x4xbf16>) {
    // expected-error @below {{operand #0 must be static ranked tensor of 32-bit float or 64-bit float values}}
    %y = gradus.inverse %x : tensor<4x4xbf16>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has an input of type 'tensor<4xf32>', expected rows and columns}}
    %y = gradus.gram %x axis 0 block 4 : tensor<4xf32> -> tensor<1x4x4xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
    // expected-error @below {{expected an output of type 'tensor<2x6x6x6xf32>', found 'tensor<2x6x8x8xf32>'}}
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x8x8xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8x8xf32>, %w: tensor<6x3x3x3xf32>) {
    // expected-error @below {{has a weight for 3 input channels a group, but the input has 4 channels in 1 groups}}
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<6x3x3x3xf32> -> tensor<2x6x6x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
    // expected-error @below {{has 4 groups, which do not divide 4 input and 6 output channels}}
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 4 : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
    // expected-error @below {{has 1 strides for 2 spatial dimensions}}
    %y = gradus.convolution %x, %w strides [1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
    // expected-error @below {{has -1 among its pads at the begin, expected at least 0}}
    %y = gradus.convolution %x, %w strides [1, 1] pads [-1, 0] to [0, 0] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
    // expected-error @below {{has a window that reaches over 9 elements of spatial dimension 0, whose padded size is 8}}
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [4, 1] : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3x3xf32>) {
    // expected-error @below {{expected an input [N, C, spatial...] and a weight of the same rank, found 'tensor<2x4x8xf32>' and 'tensor<6x4x3x3xf32>'}}
    %y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<2x6x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
    // expected-error @below {{expected an output of type 'tensor<2x6x5x6xf32>', found 'tensor<2x6x6x6xf32>'}}
    %x = gradus.convolution_backward_data %g, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x6x6x6xf32>, tensor<6x4x3x3xf32> -> tensor<2x4x7x8xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4x8x8xf32>, %g: tensor<2x6x6x6xf32>) {
    // expected-error @below {{expected an output of type 'tensor<2x6x7x6xf32>', found 'tensor<2x6x6x6xf32>'}}
    %w = gradus.convolution_backward_weights %x, %g strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<2x6x6x6xf32> -> tensor<6x4x2x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<1x1x4x4xf32>) {
    // expected-error @below {{expected indices of type 'tensor<1x1x2x2xi32>', found 'tensor<1x1x1x2xi32>'}}
    %y, %i = gradus.max_pool %x window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x1x2xi32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<1x1x4x4xf32>) {
    // expected-error @below {{has a window of padding alone: number 0 along spatial dimension 0}}
    %y = gradus.average_pool %x window [2, 2] strides [2, 2] pads [2, 0] to [0, 0] dilations [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x3x2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<1x4xf32>) {
    // expected-error @below {{expected an image [N, C, spatial...], found 'tensor<1x4xf32>'}}
    %y = gradus.average_pool %x window [] strides [] pads [] to [] dilations [] : tensor<1x4xf32> -> tensor<1x4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x10xf32>, %l: tensor<5xi64>) {
    // expected-error @below {{expected labels of type 'tensor<4xi64>', found 'tensor<5xi64>'}}
    %y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<4x10xf32>, tensor<5xi64> -> tensor<f32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x10xf32>, %l: tensor<4xi64>) {
    // expected-error @below {{has class axis 2, but the logits have rank 2}}
    %y = gradus.softmax_cross_entropy %x, %l axis 2 : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x10xf32>, %l: tensor<4xi64>) {
    // expected-error @below {{has label smoothing 1.5}}
    %y = gradus.softmax_cross_entropy %x, %l axis 1 {label_smoothing = 1.5 : f64} : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x10xf32>, %l: tensor<4xi64>) {
    // expected-error @below {{expected a loss of rank 0, found 'tensor<1xf32>'}}
    %y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<4x10xf32>, tensor<4xi64> -> tensor<1xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%p: tensor<4xf32>, %t: tensor<5xf32>) {
    // expected-error @below {{expected a target of type 'tensor<4xf32>', found 'tensor<5xf32>'}}
    %y = gradus.mean_squared_error %p, %t : tensor<4xf32>, tensor<5xf32> -> tensor<f32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x10xf32>, %l: tensor<4xf32>) {
    // expected-error @below {{operand #1 must be static}}
    %y = gradus.accuracy %x, %l axis 1 : tensor<4x10xf32>, tensor<4xf32> -> tensor<f32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<2x3x4x4xf32>) {
    // expected-error @below {{expected an output of type 'tensor<2x3x3x4xf32>', found 'tensor<2x3x4x4xf32>'}}
    %y = gradus.average_pool_backward %g window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x3x4x4xf32> -> tensor<2x3x6x8xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<2x3x4x4xf32>, %i: tensor<2x3x4x4xi32>) {
    // expected-error @below {{expected an output of type 'tensor<2x5x4x4xf32>', found 'tensor<2x3x4x4xf32>'}}
    %y = gradus.max_pool_backward %g, %i window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x3x4x4xf32>, tensor<2x3x4x4xi32> -> tensor<2x5x8x8xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<2x3x4x4xf32>, %i: tensor<2x3x4x5xi32>) {
    // expected-error @below {{expected indices of type 'tensor<2x3x4x4xi32>', found 'tensor<2x3x4x5xi32>'}}
    %y = gradus.max_pool_backward %g, %i window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x3x4x4xf32>, tensor<2x3x4x5xi32> -> tensor<2x3x8x8xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<f32>, %x: tensor<4x10xf32>, %l: tensor<10xi64>) {
    // expected-error @below {{expected labels of type 'tensor<4xi64>', found 'tensor<10xi64>'}}
    %y = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 : tensor<f32>, tensor<4x10xf32>, tensor<10xi64> -> tensor<4x10xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<1xf32>, %x: tensor<4x10xf32>, %l: tensor<4xi64>) {
    // expected-error @below {{expected a gradient of the loss of rank 0, found 'tensor<1xf32>'}}
    %y = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 : tensor<1xf32>, tensor<4x10xf32>, tensor<4xi64> -> tensor<4x10xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%g: tensor<f32>, %x: tensor<4x10xf32>, %l: tensor<4xi64>) {
    // expected-error @below {{expected a result of type 'tensor<4x10xf32>', found 'tensor<4x9xf32>'}}
    %y = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 : tensor<f32>, tensor<4x10xf32>, tensor<4xi64> -> tensor<4x9xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{has 1 then inputs and 0 maps of them}}
    %y = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
        attributes {map_input_maps = [], then_input_maps = [], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
        map {} then {
        ^bb0(%a: f32):
          plan.yield %a : f32
        } -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{expected 1 dimensions and 1 results}}
    %y = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
        attributes {map_input_maps = [], then_input_maps = [affine_map<(d, e) -> (d)>], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
        map {} then {
        ^bb0(%a: f32):
          plan.yield %a : f32
        } -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{holds op 'math.cbrt', which no target has code for}}
    %y = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
        attributes {map_input_maps = [], then_input_maps = [affine_map<(d) -> (d)>], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
        map {} then {
        ^bb0(%a: f32):
          %b = math.cbrt %a : f32
          plan.yield %b : f32
        } -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4x8xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{combines by mean, expected sum, max or min}}
    %y = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>)
        attributes {map_input_maps = [affine_map<(d, e) -> (d, e)>], then_input_maps = [], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = [#gradus<reduction mean>]}
        map {
        ^bb0(%a: f32):
          plan.yield %a : f32
        } then {
        ^bb0(%a: f32):
          plan.yield %a : f32
        } -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xi7>) -> (y: tensor<4xi7>) {
    // expected-error @below {{has elements of type i7, which no target has code for}}
    %y = plan.nest parallel [4] reduced [] with(%x : tensor<4xi7>)
        attributes {map_input_maps = [], then_input_maps = [affine_map<(d) -> (d)>], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
        map {} then {
        ^bb0(%a: i7):
          plan.yield %a : i7
        } -> tensor<4xi7>
    gradus.return %y : tensor<4xi7>
  }
}

// -----

gradus.program @p {
  // expected-error @below {{has 1 arguments, of which 2 cannot be inputs}}
  plan.kernel @k(%x: memref<4xf32>) attributes {inputs = 2 : i64, split = #plan<split serial>, items = 1 : i64} {
    plan.end
  }
}

// -----

gradus.program @p {
  plan.kernel @k(%x: memref<4xf32>) attributes {inputs = 1 : i64, split = #plan<split serial>, items = 1 : i64} {
    // expected-error @below {{stands in no kernel over rows}}
    plan.loop from affine_map<(item) -> (0)> to affine_map<(item) -> (2)> {
    }
    plan.end
  }
}

// -----

gradus.program @p {
  plan.kernel @k(%x: memref<4xf32>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 4 : i64} {
    // expected-error @below {{expected results over 1 dimensions}}
    plan.loop from affine_map<() -> (0)> to affine_map<(item) -> (2)> {
    }
    plan.end
  }
}

// -----

gradus.program @p {
  plan.kernel @k(%x: memref<4xi64>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 4 : i64} {
    // expected-error @below {{reads its position from 'memref<4xi64>', expected integers of 32 bits with 1 dimensions}}
    plan.loop from affine_map<(item) -> (item)> to affine_map<(item) -> (2)> at %x : memref<4xi64> {
    }
    plan.end
  }
}

// -----

gradus.program @p {
  plan.kernel @k(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 4 : i64} {
    plan.loop from affine_map<(item) -> (0)> to affine_map<(item) -> (2)> {
      // expected-error @below {{has 1 parallel dimensions, expected the item's and those of 1 loops around it}}
      plan.nest parallel [4] reduced [] with(%x : memref<4xf32>) outs(%y : memref<4xf32>)
          attributes {map_input_maps = [], then_input_maps = [affine_map<(d) -> (d)>], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
          map {} then {
          ^bb0(%a: f32):
            plan.yield %a : f32
          }
    }
    plan.end
  }
}

// -----

gradus.program @p {
  plan.kernel @k(%x: memref<4xf32>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 4 : i64} {
    plan.loop from affine_map<(item) -> (0)> to affine_map<(item) -> (2)> {
      // expected-error @below {{stands in a loop, which repeats nests and loops}}
      %s = plan.scratch : memref<4xf32>
    }
    plan.end
  }
}

// -----

gradus.program @p {
  gradus.graph @train(%x: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    // expected-error @below {{calls 'matmull', expected one of matmul, convolution, convolution_backward_data}}
    %y = plan.library "matmull"(%x, %x) config {} layouts [] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @train(%x: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    // expected-error @below {{has the activation "swish", expected one of none, relu}}
    %y = plan.library "matmul"(%x, %x) config {activation = "swish"} layouts [] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @train(%x: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    // expected-error @below {{has 1 layouts of its 3 tensors}}
    %y = plan.library "matmul"(%x, %x) config {} layouts [{dims = array<i64: 4, 4>}] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @train(%x: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    // expected-error @below {{has the epilogue @relu, but the program has no such kernel}}
    %y = plan.library "matmul"(%x, %x) config {} layouts [] {epilogue = @relu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x5x5xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has weights of type 'tensor<32x32x5x5xf32>', expected windows of 3x3}}
    %y = plan.winograd forward %x, %w pads [1, 1] : tensor<2x2x8x8x16xf32>, tensor<32x32x5x5xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x48x3x3xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has tiles of 3, expected 2 or 4}}
    %y = plan.winograd forward %x, %w pads [1, 1] {tile = 3} : tensor<2x2x8x8x16xf32>, tensor<32x48x3x3xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x48x3x3xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has an input of type 'tensor<2x2x8x8x16xf32>', expected blocks of 16 of 48 channels}}
    %y = plan.winograd forward %x, %w pads [1, 1] : tensor<2x2x8x8x16xf32>, tensor<32x48x3x3xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<2x2x8x14x16xf32>) {
    // expected-error @below {{with 1 zeros before it, expected padding of 0 to 2}}
    %y = plan.winograd forward %x, %w pads [1, 1] : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32> -> tensor<2x2x8x14x16xf32>
    gradus.return %y : tensor<2x2x8x14x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has a bias or an activation, and is no forward pass}}
    %y = plan.winograd input_gradient %x, %w pads [1, 1] {activation = "relu"} : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has the activation "swish", expected one of relu, tanh, sigmoid, gelu_erf, gelu_tanh}}
    %y = plan.winograd forward %x, %w pads [1, 1] {activation = "swish"} : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has the activation "none", expected one of relu, tanh, sigmoid, gelu_erf, gelu_tanh}}
    %y = plan.winograd forward %x, %w pads [1, 1] {activation = "none"} : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has the activation "gelu_tanh_gradient", expected one of relu, tanh, sigmoid, gelu_erf, gelu_tanh}}
    %y = plan.winograd forward %x, %w pads [1, 1] {activation = "gelu_tanh_gradient"} : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>, %b: tensor<16xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has a bias of type 'tensor<16xf32>', expected 32 elements in one dimension}}
    %y = plan.winograd forward %x, %w bias %b pads [1, 1] : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32>, tensor<16xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>, %b: tensor<1x32xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{has a bias of type 'tensor<1x32xf32>', expected 32 elements in one dimension}}
    %y = plan.winograd forward %x, %w bias %b pads [1, 1] : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32>, tensor<1x32xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>, %b: tensor<32xf16>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{operand #2 must be static ranked tensor of 32-bit float or bfloat16 type values, but got 'tensor<32xf16>'}}
    %y = plan.winograd forward %x, %w bias %b pads [1, 1] : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32>, tensor<32xf16> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<2x2x8x8x16xf16>) {
    // expected-error @below {{result #0 must be static ranked tensor of 32-bit float or bfloat16 type values, but got 'tensor<2x2x8x8x16xf16>'}}
    %y = plan.winograd forward %x, %w pads [1, 1] : tensor<2x2x8x8x16xf32>, tensor<32x32x3x3xf32> -> tensor<2x2x8x8x16xf16>
    gradus.return %y : tensor<2x2x8x8x16xf16>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x2x8x8x16xf16>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<2x2x8x8x16xf32>) {
    // expected-error @below {{operand #0 must be static ranked tensor of 32-bit float or bfloat16 type values, but got 'tensor<2x2x8x8x16xf16>'}}
    %y = plan.winograd forward %x, %w pads [1, 1] : tensor<2x2x8x8x16xf16>, tensor<32x32x3x3xf32> -> tensor<2x2x8x8x16xf32>
    gradus.return %y : tensor<2x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<0x2x8x8x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<0x2x8x8x16xf32>) {
    // expected-error @below {{has a tensor of type 'tensor<0x2x8x8x16xf32>', expected elements}}
    %y = plan.winograd forward %x, %w pads [1, 1] : tensor<0x2x8x8x16xf32>, tensor<32x32x3x3xf32> -> tensor<0x2x8x8x16xf32>
    gradus.return %y : tensor<0x2x8x8x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<1x2x4x2048x16xf32>, %w: tensor<32x32x3x3xf32>) -> (y: tensor<1x2x4x2048x16xf32>) {
    // expected-error @below {{needs 5902848 bytes of scratch for a row of 512 tiles, which do not fit the stack of a thread}}
    %y = plan.winograd forward %x, %w pads [1, 1] : tensor<1x2x4x2048x16xf32>, tensor<32x32x3x3xf32> -> tensor<1x2x4x2048x16xf32>
    gradus.return %y : tensor<1x2x4x2048x16xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<1x1x4x800x16xf32>, %dy: tensor<1x1x4x800x16xf32>) -> (y: tensor<16x16x3x3xf32>) {
    // expected-error @below {{needs 1886976 bytes of scratch for a row of 200 tiles, which do not fit the stack of a thread}}
    %y = plan.winograd weight_gradient %x, %dy pads [1, 1] : tensor<1x1x4x800x16xf32>, tensor<1x1x4x800x16xf32> -> tensor<16x16x3x3xf32>
    gradus.return %y : tensor<16x16x3x3xf32>
  }
}

// -----

gradus.program @p {
  plan.kernel @k(%x: memref<4x6xbf16>) attributes {inputs = 1 : i64, split = #plan<split serial>, items = 1 : i64} {
    // expected-error @below {{sees 'memref<4x6xbf16>' as 'memref<4x6xi32>', expected 'memref<4x3xi32>'}}
    %0 = plan.pairs %x : memref<4x6xbf16> -> memref<4x6xi32>
    plan.end
  }
}

// -----

gradus.program @p {
  plan.kernel @k(%x: memref<4x5xbf16>) attributes {inputs = 1 : i64, split = #plan<split serial>, items = 1 : i64} {
    // expected-error @below {{sees 'memref<4x5xbf16>' as pairs, expected 16-bit numbers with a last dimension of even size}}
    %0 = plan.pairs %x : memref<4x5xbf16> -> memref<4x2xi32>
    plan.end
  }
}

// -----

gradus.program @p {
  // expected-error @below {{has a nest with results; its nests write buffers}}
  plan.kernel @k(%x: memref<4xf32>) attributes {inputs = 1 : i64, items = 1 : i64, split = #plan<split rows>} {
    %y = plan.nest parallel [4] reduced [] with(%x : memref<4xf32>)
        attributes {map_input_maps = [], then_input_maps = [affine_map<(d) -> (d)>], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
        map {} then {
        ^bb0(%a: f32):
          plan.yield %a : f32
        } -> tensor<4xf32>
    plan.end
  }
}

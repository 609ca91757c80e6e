// RUN: gradus-opt %s --less-bn --verify-diagnostics --split-input-file

// expected-warning @below {{recipe: less_bn takes nothing out: none of the model's 1 batch normalizations stands in a block that it knows}}
gradus.program @plain attributes {recipe = {less_bn = {}}} {
  gradus.state @conv0.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @stem.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @stem.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x4x6x6xf32>) {
    %v0 = gradus.read @conv0.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @stem.weight : tensor<4xf32>
    %v3 = gradus.read @stem.bias : tensor<4xf32>
    %v4 = gradus.read @stem.mean : tensor<4xf32>
    %v5 = gradus.read @stem.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.relu %v6 : tensor<2x4x6x6xf32>
    gradus.return %v7 : tensor<2x4x6x6xf32>
  }
}

// -----

// A pattern that names nothing is told, and one of a nameless normalization has
// no name to match.
// expected-warning @below {{recipe: less_bn.keep has "layer4.*", which names no batch normalization of the model}}
// expected-warning @below {{recipe: less_bn.keep has "a batch*", which names no batch normalization of the model}}
// expected-warning @below {{recipe: less_bn takes nothing out: none of the model's 1 batch normalizations}}
gradus.program @unmatched attributes {recipe = {less_bn = {keep = ["layer4.*", "a batch*"]}}} {
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y: tensor<2x4x6x6xf32>) {
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %mean = gradus.read @stem.mean : tensor<4xf32>
    %variance = gradus.read @stem.variance : tensor<4xf32>
    %y = gradus.batch_norm %x, %one, %one mean %mean variance %variance epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    gradus.return %y : tensor<2x4x6x6xf32>
  }
}

// RUN: gradus-opt %s --keep-epilogues --verify-diagnostics --split-input-file

gradus.program @p {
  gradus.graph @unknown(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> (y: tensor<4x8xf32>) {
    // expected-error @below {{has the activation "tanh", expected relu, gelu_tanh or gelu_tanh_gradient}}
    %0 = plan.library "matmul"(%x, %w) config {activation = "tanh"} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    gradus.return %0 : tensor<4x8xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @slopes_of_nothing(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> (y: tensor<4x8xf32>) {
    // expected-error @below {{has the activation "gelu_tanh_gradient" and 2 operands, expected a third: what gelu was of}}
    %0 = plan.library "matmul"(%x, %w) config {activation = "gelu_tanh_gradient"} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    gradus.return %0 : tensor<4x8xf32>
  }
}

// RUN: gradus-opt %s --deal-inverses --verify-diagnostics

// An inverse of another inverse of the same size has to wait for it.
gradus.program @chain attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
  gradus.state @a : tensor<2x8x8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  // expected-error @below {{@train has inverses that depend on others of the same size, which refresh.dealt excludes}}
  gradus.graph @train() -> (y: tensor<2x8x8xf32>) attributes {gradus.dealt} {
    %a = gradus.read @a : tensor<2x8x8xf32>
    %once = gradus.inverse %a : tensor<2x8x8xf32>
    %twice = gradus.inverse %once : tensor<2x8x8xf32>
    gradus.return %twice : tensor<2x8x8xf32>
  }
}

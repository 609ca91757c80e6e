// RUN: gradus-opt %s --half-reduce --verify-diagnostics

// A pass of somebody's that lets a gradient depend on the condition.
gradus.program @circle attributes {recipe = {distribution = {mode = "data_parallel", reduce = "half"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // expected-error @below {{@train has gradients that depend on whether gradients are finite, which is known behind their sum of 16 bits; take distribution.reduce "plain"}}
  gradus.graph @train(%g: tensor<4xf32>, %finite: tensor<4xi1>, %all: tensor<i1>) -> () {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %no = arith.constant dense<false> : tensor<i1>
    %both = arith.ori %all, %no : tensor<i1>
    %wide = gradus.broadcast %both dims [] : tensor<i1> -> tensor<4xi1>
    %kept = arith.select %wide, %g, %zero : tensor<4xi1>, tensor<4xf32>
    %sum = gradus.all_reduce %kept {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
    gradus.update @w, %sum : tensor<4xf32>
    gradus.guard %both
    gradus.return
  }
}

// RUN: gradus-opt %s --lower-scans=loops=false --verify-diagnostics

// Each step would be ops of its own.
gradus.program @p {
  gradus.graph @sums(%start: tensor<4xf32>) -> (sum: tensor<4xf32>) {
    // expected-error @+1 {{has 5000 steps; at most 4096 can be written out, as they are for GPUs}}
    %last = gradus.scan 5000 carry(%start : tensor<4xf32>) body {
    ^bb0(%sum: tensor<4xf32>):
      %next = arith.addf %sum, %sum : tensor<4xf32>
      gradus.yield %next : tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return %last : tensor<4xf32>
  }
}

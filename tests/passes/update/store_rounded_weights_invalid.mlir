// RUN: gradus-opt %s --store-rounded-weights --verify-diagnostics

gradus.program @p {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (y: tensor<4xbf16>) {
    %w = gradus.read @w : tensor<4xf32>
    %y = arith.truncf %w : tensor<4xf32> to tensor<4xbf16>
    gradus.return %y : tensor<4xbf16>
  }
  // expected-error@below {{the name of this graph is that of the one which makes 16-bit copies of weights; rename it}}
  gradus.graph @round_weights(%x: tensor<4xf32>) -> (x: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}

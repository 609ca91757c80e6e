gradus.program @net {
  gradus.state @fc1.weight : tensor<16x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @fc1.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc2.weight : tensor<8x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%image: tensor<4x16xf32>) -> (logits: tensor<4x3xf32>) {
    %w1 = gradus.read @fc1.weight : tensor<16x8xf32>
    %b1 = gradus.read @fc1.bias : tensor<8xf32>
    %w2 = gradus.read @fc2.weight : tensor<8x3xf32>
    %0 = gradus.matmul %image, %w1 : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
    %1 = gradus.broadcast %b1 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    %2 = arith.addf %0, %1 : tensor<4x8xf32>
    %3 = math.tanh %2 : tensor<4x8xf32>
    %4 = gradus.dropout %3 ratio 0.25 : tensor<4x8xf32>
    %logits = gradus.matmul %4, %w2 : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
    gradus.return %logits : tensor<4x3xf32>
  }
}

// RUN: gradus-opt %s --lower-to-nests --fuse --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s

// Each nest that is joined says so, each that stays apart says why.
gradus.program @p {
  gradus.state @w : tensor<3x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @step(%x: tensor<4x8xf32>, %g: tensor<4x3xf32>) -> (y: tensor<4x3xf32>) {
    %w = gradus.read @w : tensor<3x8xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
    // CHECK: [Passed] Fused {{.*}}elementwise work behind its producer
    %1 = math.tanh %0 : tensor<4x3xf32>
    %2 = gradus.matmul %g transposed, %x : tensor<4x3xf32>, tensor<4x8xf32> -> tensor<3x8xf32>
    // CHECK: [Missed] NotFused {{.*}}updates of states are launched together
    %3 = arith.subf %w, %2 : tensor<3x8xf32>
    gradus.write @w, %3 : tensor<3x8xf32>
    gradus.return %1 : tensor<4x3xf32>
  }
}

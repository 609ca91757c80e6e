// REQUIRES: onednn
// RUN: gradus-opt %s --select=library=always --remark-format=emitRemark --remarks-filter=".*" 2>&1 | FileCheck %s

// What the library has no code for stays with us: oneDNN ends at 12 dimensions.
// CHECK: [Missed] NotSelected {{.*}}Remark=matmul, {{.*}}the library refuses it on this machine
// CHECK: gradus.matmul
gradus.program @p {
  gradus.graph @predict(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x8x8xf32>, %w: tensor<1x1x1x1x1x1x1x1x1x1x1x8x8xf32>) -> (y: tensor<1x1x1x1x1x1x1x1x1x1x1x8x8xf32>) {
    %0 = gradus.matmul %x, %w : tensor<1x1x1x1x1x1x1x1x1x1x1x8x8xf32>, tensor<1x1x1x1x1x1x1x1x1x1x1x8x8xf32> -> tensor<1x1x1x1x1x1x1x1x1x1x1x8x8xf32>
    gradus.return %0 : tensor<1x1x1x1x1x1x1x1x1x1x1x8x8xf32>
  }
}

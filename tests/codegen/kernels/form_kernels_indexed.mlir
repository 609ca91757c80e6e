// RUN: gradus-opt %s --lower-to-nests --form-kernels | FileCheck %s

gradus.program @p {
  // One item for each slice that is written; the same kernel for the same shapes.
  // CHECK-LABEL: gradus.graph @g
  // CHECK: plan.launch @[[TAKE:kernel[0-9]+_gather]](%x, %i) items [3] grain 3 inplace [-1]
  // CHECK: plan.launch @[[TAKE]](%x, %j) items [3]
  // CHECK: plan.launch @[[ADD:kernel[0-9]+_scatter_add]](%{{.*}}, %i) items [9]
  gradus.graph @g(%x: tensor<9x4xf32>, %i: tensor<3xi64>, %j: tensor<3xi64>) -> (y: tensor<9x4xf32>, z: tensor<3x4xf32>) {
    %0 = gradus.gather %x at %i axis 0 : tensor<9x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
    %1 = gradus.gather %x at %j axis 0 : tensor<9x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
    %2 = gradus.scatter_add %0 at %i axis 0 : tensor<3x4xf32>, tensor<3xi64> -> tensor<9x4xf32>
    gradus.return %2, %1 : tensor<9x4xf32>, tensor<3x4xf32>
  }
  // CHECK: plan.kernel @[[TAKE]]
  // CHECK-NEXT: plan.take %{{.*}} at %{{.*}} into %{{.*}} axis 0 batch 0 : memref<9x4xf32>, memref<3xi64>, memref<3x4xf32>
}

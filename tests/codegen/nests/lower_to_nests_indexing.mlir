// RUN: gradus-opt %s --lower-to-nests | FileCheck %s

// CHECK-DAG: #[[BACK:.*]] = affine_map<(d0) -> (d0 * -2 + 4)>
// CHECK-DAG: #[[INSIDE:.*]] = affine_set<(d0) : (d0 - 1 >= 0, -d0 + 3 >= 0, (d0 - 1) mod 2 == 0)>
gradus.program @p {
  // CHECK-LABEL: gradus.graph @slice
  // CHECK: plan.nest parallel [3] reduced [] with(%x : tensor<5xf32>)
  // CHECK-SAME: then_input_maps = [#[[BACK]]]
  gradus.graph @slice(%x: tensor<5xf32>) -> (y: tensor<3xf32>) {
    %0 = gradus.slice %x starts [4] steps [-2] : tensor<5xf32> -> tensor<3xf32>
    gradus.return %0 : tensor<3xf32>
  }

  // CHECK-LABEL: gradus.graph @pad
  // CHECK: guards = [#[[INSIDE]]]
  // CHECK: arith.select
  gradus.graph @pad(%x: tensor<2xf32>) -> (y: tensor<6xf32>) {
    %0 = gradus.pad %x low [1] high [2] interior [1] {value = 1.0 : f64} : tensor<2xf32> -> tensor<6xf32>
    gradus.return %0 : tensor<6xf32>
  }

  // Ten parts come together in eights.
  // CHECK-LABEL: gradus.graph @concatenate
  // CHECK-COUNT-3: plan.nest
  // CHECK-NOT: plan.nest
  // CHECK: gradus.return
  gradus.graph @concatenate(%x: tensor<2xf32>) -> (y: tensor<20xf32>) {
    %0 = gradus.concatenate %x, %x, %x, %x, %x, %x, %x, %x, %x, %x axis 0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<20xf32>
    gradus.return %0 : tensor<20xf32>
  }

  // CHECK-LABEL: gradus.graph @indexed
  // CHECK: plan.take %x at %i axis 0 batch 0 : tensor<9x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  // CHECK: plan.add_at %{{.*}} at %i axis 0 batch 0 : tensor<3x4xf32>, tensor<3xi64> -> tensor<9x4xf32>
  gradus.graph @indexed(%x: tensor<9x4xf32>, %i: tensor<3xi64>) -> (y: tensor<9x4xf32>) {
    %0 = gradus.gather %x at %i axis 0 : tensor<9x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
    %1 = gradus.scatter_add %0 at %i axis 0 : tensor<3x4xf32>, tensor<3xi64> -> tensor<9x4xf32>
    gradus.return %1 : tensor<9x4xf32>
  }
}

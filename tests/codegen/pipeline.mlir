// RUN: gradus-opt %s --codegen | FileCheck %s
// RUN: gradus-opt %s --codegen=stop-after=nests | FileCheck %s --check-prefix=NESTS

// A tiny graph becomes one serial kernel and one launch.
// CHECK-LABEL: gradus.graph @predict
// CHECK-NOT:     gradus.matmul
// CHECK:         plan.launch @[[KERNEL:[a-z_0-9]+]](
// CHECK-NOT:     plan.launch
// CHECK:         gradus.return
// CHECK:       plan.kernel @[[KERNEL]](
// CHECK-SAME:    split = #plan<split serial>

// NESTS-LABEL: gradus.graph @predict
// NESTS-NOT:     gradus.matmul
// NESTS:         plan.nest
gradus.program @p {
  gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @w : tensor<8x4xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    %1 = gradus.relu %0 : tensor<2x8xf32>
    gradus.return %1 : tensor<2x8xf32>
  }
}

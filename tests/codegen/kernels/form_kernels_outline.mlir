// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels --form-kernels | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels="tiny-work=0 small-work=0" | FileCheck %s --check-prefix=MANY
// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels="tiny-work=0 small-work=0 scratch-bytes=8 block-work=1 most-blocks=2" | FileCheck %s --check-prefix=OTHER

gradus.program @p {
  // One kernel; the exponentials are scratch.
  // CHECK-LABEL: gradus.graph @softmax
  // CHECK: %[[Y:.*]] = plan.launch @[[K:kernel0_[a-z_]+]](%x) items [1] grain 1 inplace [0]
  // CHECK-NEXT: gradus.return %[[Y]]
  // By rows, whose scratch is one row.
  // MANY-LABEL: gradus.graph @softmax
  // MANY: plan.launch @[[ROWS:kernel0_[a-z_]+]](%x) items [64]
  // A row is too large for scratch of 8 bytes, its sum is not; two blocks of rows.
  // OTHER: plan.launch @{{kernel0_[a-z_]+}}(%x) items [64] grain 32
  // OTHER: plan.kernel
  // OTHER-NOT: plan.scratch : memref<32xf32>
  // OTHER: plan.scratch : memref<f32>
  gradus.graph @softmax(%x: tensor<64x32xf32>) -> (y: tensor<64x32xf32>) {
    %0 = math.exp %x : tensor<64x32xf32>
    %1 = gradus.reduce sum %0 axes [1] : tensor<64x32xf32> -> tensor<64xf32>
    %2 = gradus.broadcast %1 dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %3 = arith.divf %0, %2 : tensor<64x32xf32>
    gradus.return %3 : tensor<64x32xf32>
  }

  // CHECK: plan.kernel @[[K]](%{{.*}}: memref<64x32xf32>, %{{.*}}: memref<64x32xf32>)
  // CHECK-SAME: inputs = 1 : i64, items = 1 : i64, split = #plan<split serial>
  // CHECK-DAG: plan.scratch : memref<64x32xf32>
  // CHECK-DAG: plan.scratch : memref<64xf32>
  // CHECK: plan.nest
  // CHECK: plan.end

  // MANY: plan.kernel @[[ROWS]]
  // MANY-SAME: items = 64 : i64, split = #plan<split rows>
  // MANY-DAG: plan.scratch : memref<32xf32>
  // MANY-DAG: plan.scratch : memref<f32>
}

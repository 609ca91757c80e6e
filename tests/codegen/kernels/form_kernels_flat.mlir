// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels="tiny-work=0 small-work=0" | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels="tiny-work=0 small-work=0" --form-kernels="tiny-work=0 small-work=0" | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels="tiny-work=0 small-work=0 moved-bytes=1000" | FileCheck %s --check-prefix=MOVED
// RUN: gradus-opt %s --lower-to-nests --fuse --form-kernels="tiny-work=0 small-work=0 freed-bytes=200" | FileCheck %s --check-prefix=FREED

gradus.program @p {
  // Parameters of the same update share a launch, each in place.
  // CHECK-LABEL: gradus.graph @update(
  // CHECK: %{{.*}}:2 = plan.launch @[[UPDATE:kernel[0-9]+_flat_[a-z_]+]](%{{.*}}, %ga, %{{.*}}, %gb) items [64, 12] grain {{[0-9]+}} inplace [0, 2] {{.*}}label = "update x2"
  gradus.state @a : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<3x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @update(%ga: tensor<64xf32>, %gb: tensor<3x4xf32>) -> () {
    %a = gradus.read @a : tensor<64xf32>
    %b = gradus.read @b : tensor<3x4xf32>
    %0 = arith.subf %a, %ga : tensor<64xf32>
    %1 = arith.subf %b, %gb : tensor<3x4xf32>
    gradus.write @a, %0 : tensor<64xf32>
    gradus.write @b, %1 : tensor<3x4xf32>
    gradus.return
  }

  // A tensor of another size has the same kernel.
  // CHECK-LABEL: gradus.graph @double(
  // CHECK: plan.launch @[[DOUBLE:kernel[0-9]+_flat_[a-z_]+]](%x) items [4096]
  // Whole cache lines of 8 bytes an item.
  // MOVED-LABEL: gradus.graph @double(
  // MOVED: plan.launch @{{.*}}(%x) items [4096] grain 128
  // CHECK-LABEL: gradus.graph @double_larger
  // CHECK: plan.launch @[[DOUBLE]](%x) items [16384]
  gradus.graph @double(%x: tensor<64x64xf32>) -> (y: tensor<64x64xf32>) {
    %0 = arith.addf %x, %x : tensor<64x64xf32>
    gradus.return %0 : tensor<64x64xf32>
  }
  gradus.graph @double_larger(%x: tensor<128x128xf32>) -> (y: tensor<128x128xf32>) {
    %0 = arith.addf %x, %x : tensor<128x128xf32>
    gradus.return %0 : tensor<128x128xf32>
  }

  // One that asks where it is in the tensor is not flat.
  // CHECK-LABEL: gradus.graph @positions
  // CHECK: plan.launch @kernel{{[0-9]+_[^f][a-z_]*}}() items [64]
  gradus.graph @positions() -> (y: tensor<64x64xi64>) {
    %0 = gradus.iota axis 1 : tensor<64x64xi64>
    gradus.return %0 : tensor<64x64xi64>
  }

  // Gradients that one call gives are updated together, however much that frees.
  // FREED-LABEL: gradus.graph @gradients_of_calls
  // FREED: %[[A:.*]]:2 = plan.library
  // FREED: %[[B:.*]]:2 = plan.library
  // FREED-DAG: plan.launch {{.*}}%[[A]]#0{{.*}}%[[A]]#1{{.*}} items [64, 12]
  // FREED-DAG: plan.launch {{.*}}%[[B]]#0{{.*}}%[[B]]#1{{.*}} items [64, 12]
  gradus.state @c : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d : tensor<3x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @gradients_of_calls(%x: tensor<8x8xf32>) -> () {
    %ga, %gb = plan.library "matmul"(%x, %x) config {} layouts [] : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<64xf32>, tensor<3x4xf32>)
    %gc, %gd = plan.library "matmul"(%x, %x) config {} layouts [] {label = "other"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<64xf32>, tensor<3x4xf32>)
    %a = gradus.read @a : tensor<64xf32>
    %b = gradus.read @b : tensor<3x4xf32>
    %c = gradus.read @c : tensor<64xf32>
    %d = gradus.read @d : tensor<3x4xf32>
    %0 = arith.subf %a, %ga : tensor<64xf32>
    %1 = arith.subf %c, %gc : tensor<64xf32>
    %2 = arith.subf %d, %gd : tensor<3x4xf32>
    %3 = arith.subf %b, %gb : tensor<3x4xf32>
    gradus.write @a, %0 : tensor<64xf32>
    gradus.write @b, %3 : tensor<3x4xf32>
    gradus.write @c, %1 : tensor<64xf32>
    gradus.write @d, %2 : tensor<3x4xf32>
    gradus.return
  }

  // CHECK: plan.kernel @[[UPDATE]](%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>)
  // CHECK-SAME: split = #plan<split flat>
  // CHECK: plan.kernel @[[DOUBLE]](%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>)
}

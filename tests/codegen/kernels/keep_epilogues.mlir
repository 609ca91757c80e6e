// RUN: gradus-opt %s --keep-epilogues | FileCheck %s
// RUN: gradus-opt %s --keep-epilogues --keep-epilogues | FileCheck %s
// RUN: gradus-opt %s --keep-epilogues --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-COUNT-5: [Passed] Kept
// REMARK-NOT: [Passed] Kept

gradus.program @p {
  // A bias and gelu, and what that is of; equal calls share a kernel.
  // CHECK-LABEL: gradus.graph @gelu
  // CHECK-COUNT-2: plan.library "matmul"{{.*}} {epilogue = @kernel0_epilogue_bias_gelu_tanh, label
  gradus.graph @gelu(%x: tensor<4x16xbf16>, %w: tensor<16x8xbf16>, %b: tensor<8xbf16>) -> (y: tensor<4x8xbf16>, z: tensor<4x8xbf16>, v: tensor<4x8xbf16>) {
    %0:2 = plan.library "matmul"(%x, %w, %b) config {activation = "gelu_tanh"} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 1, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}] {label = "matmul+bias+gelu_tanh"} : (tensor<4x16xbf16>, tensor<16x8xbf16>, tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>)
    %1:2 = plan.library "matmul"(%x, %w, %b) config {activation = "gelu_tanh"} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 1, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}] {label = "matmul+bias+gelu_tanh"} : (tensor<4x16xbf16>, tensor<16x8xbf16>, tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>)
    gradus.return %0#0, %0#1, %1#0 : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>
  }

  // gelu's slopes at the third operand, which multiply the product.
  // CHECK-LABEL: gradus.graph @slopes
  // CHECK: plan.library "matmul"{{.*}} {epilogue = @kernel1_epilogue_gelu_tanh_gradient
  gradus.graph @slopes(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %z: tensor<4x8xf32>) -> (y: tensor<4x8xf32>) {
    %0 = plan.library "matmul"(%x, %w, %z) config {activation = "gelu_tanh_gradient"} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}] {label = "matmul+gelu_tanh_gradient"} : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    gradus.return %0 : tensor<4x8xf32>
  }

  // A batch, in rows that are longer than they need be, and a call of one number.
  // CHECK-LABEL: gradus.graph @layouts
  // CHECK: plan.library "matmul"{{.*}} {epilogue = @kernel2_epilogue_bias, label
  // CHECK: plan.library "matmul"{{.*}} {epilogue = @kernel3_epilogue_relu, label
  gradus.graph @layouts(%x: tensor<2x4x16xf32>, %w: tensor<2x16x7xf32>, %b: tensor<7xf32>, %n: tensor<1x1xf32>) -> (y: tensor<2x4x8xf32>, m: tensor<1x1xf32>) {
    %0 = plan.library "matmul"(%x, %w, %b) config {} layouts [{dims = array<i64: 2, 4, 16>, strides = array<i64: 64, 16, 1>}, {dims = array<i64: 2, 16, 7>, strides = array<i64: 112, 7, 1>}, {dims = array<i64: 1, 1, 7>, strides = array<i64: 7, 7, 1>}, {dims = array<i64: 2, 4, 7>, strides = array<i64: 32, 8, 1>}] {label = "matmul+bias"} : (tensor<2x4x16xf32>, tensor<2x16x7xf32>, tensor<7xf32>) -> tensor<2x4x8xf32>
    %1 = plan.library "matmul"(%n, %n) config {activation = "relu"} layouts [{dims = array<i64: 1, 1>, strides = array<i64: 1, 1>}, {dims = array<i64: 1, 1>, strides = array<i64: 1, 1>}, {dims = array<i64: 1, 1>, strides = array<i64: 1, 1>}] {label = "matmul+relu"} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    gradus.return %0, %1 : tensor<2x4x8xf32>, tensor<1x1xf32>
  }

  // It is the library's alone where nothing stands behind the product: a sum of
  // an operand is a product, too, and convolutions have no epilogues on cards.
  // CHECK-LABEL: gradus.graph @alone
  // CHECK-NOT: epilogue =
  // CHECK: gradus.return
  gradus.graph @alone(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> (y: tensor<4x8xf32>, s: tensor<8xf32>, r: tensor<4x16xf32>) {
    %0:2 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 16, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>}, {dims = array<i64: 1, 8>, strides = array<i64: 8, 1>}] {label = "matmul+sum"} : (tensor<4x16xf32>, tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
    %1 = plan.library "reorder"(%x) config {} layouts [{dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}, {dims = array<i64: 4, 16>, strides = array<i64: 16, 1>}] {label = "reorder"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    gradus.return %0#0, %0#1, %1 : tensor<4x8xf32>, tensor<8xf32>, tensor<4x16xf32>
  }

  // The result is rounded, and so is what the activation is of; each once.
  // CHECK: plan.kernel @kernel0_epilogue_bias_gelu_tanh(%{{.*}}: memref<32xf32>, %{{.*}}: memref<8xbf16>, %{{.*}}: memref<32xbf16>, %{{.*}}: memref<32xbf16>)
  // CHECK-SAME: {inputs = 2 : i64, items = 4 : i64, split = #plan<split rows>}
  // CHECK: ^bb0(%[[P:.*]]: f32, %[[B:.*]]: bf16):
  // CHECK-NEXT: %[[W:.*]] = arith.extf %[[B]]
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[P]], %[[W]] : f32
  // CHECK: math.tanh
  // CHECK: %[[GELU:.*]] = arith.truncf {{.*}} : f32 to bf16
  // CHECK-NEXT: %[[INPUT:.*]] = arith.truncf %[[SUM]] : f32 to bf16
  // CHECK-NEXT: plan.yield %[[GELU]], %[[INPUT]]

  // CHECK: plan.kernel @kernel1_epilogue_gelu_tanh_gradient(%{{.*}}: memref<32xf32>, %{{.*}}: memref<32xf32>, %{{.*}}: memref<32xf32>)
  // CHECK: ^bb0(%[[P:.*]]: f32, %{{.*}}: f32):
  // CHECK: arith.mulf %[[P]], %{{.*}} : f32
  // CHECK-NEXT: plan.yield

  // CHECK: plan.kernel @kernel2_epilogue_bias(%{{.*}}: memref<64xf32>, %{{.*}}: memref<7xf32>, %{{.*}}: memref<64xf32>) attributes {inputs = 2 : i64, items = 2 : i64
  // CHECK: plan.nest parallel [2, 4, 7]
  // CHECK-SAME: output_maps = [#[[ROWS:.*]]], then_input_maps = [#[[ROWS]], #{{.*}}]

  // CHECK: plan.kernel @kernel3_epilogue_relu({{.*}}) attributes {inputs = 1 : i64, items = 1 : i64, split = #plan<split serial>}
}

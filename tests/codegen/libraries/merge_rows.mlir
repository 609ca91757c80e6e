// RUN: gradus-opt %s --merge-rows --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gradus-opt %s --merge-rows | FileCheck %s
// REMARK: [Passed] Merged

gradus.program @p {
  // A residual, its layer norm without weights, and the next product's operand.
  // CHECK-LABEL: gradus.graph @layer_norm
  // CHECK: %[[X:.*]] = gradus.reshape %x : tensor<2x3x8xf32> -> tensor<6x8xf32>
  // CHECK: %[[S:.*]] = arith.addf %[[X]], %p : tensor<6x8xf32>
  // CHECK: %[[M:.*]] = gradus.reduce mean %[[S]] axes [1] : tensor<6x8xf32> -> tensor<6xf32>
  // CHECK: %[[R:.*]] = gradus.broadcast %[[M]] dims [0] : tensor<6xf32> -> tensor<6x8xf32>
  // CHECK: %[[D:.*]] = arith.subf %[[S]], %[[R]] : tensor<6x8xf32>
  // CHECK: gradus.return %[[D]]
  gradus.graph @layer_norm(%x: tensor<2x3x8xf32>, %p: tensor<6x8xf32>) -> (y: tensor<6x8xf32>) {
    %0 = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %1 = arith.addf %x, %0 : tensor<2x3x8xf32>
    %2 = gradus.reduce mean %1 axes [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
    %3 = gradus.broadcast %2 dims [0, 1] : tensor<2x3xf32> -> tensor<2x3x8xf32>
    %4 = arith.subf %1, %3 : tensor<2x3x8xf32>
    %5 = gradus.reshape %4 : tensor<2x3x8xf32> -> tensor<6x8xf32>
    gradus.return %5 : tensor<6x8xf32>
  }

  // One-hot labels are made as rows, and summed over all of them at once.
  // CHECK-LABEL: gradus.graph @labels
  // CHECK-NOT: 2x3x8
  // CHECK: %[[C:.*]] = gradus.iota axis 1 : tensor<6x8xi64>
  // CHECK: arith.cmpi eq, %[[C]]
  // CHECK: gradus.reduce sum {{.*}} axes [0] : tensor<6x8xf32> -> tensor<8xf32>
  // CHECK: gradus.return
  gradus.graph @labels(%p: tensor<6x8xf32>, %label: tensor<2x3xi64>) -> (s: tensor<8xf32>) {
    %0 = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %zero = arith.constant dense<0.0> : tensor<2x3x8xf32>
    %1 = gradus.iota axis 2 : tensor<2x3x8xi64>
    %2 = gradus.broadcast %label dims [0, 1] : tensor<2x3xi64> -> tensor<2x3x8xi64>
    %3 = arith.cmpi eq, %1, %2 : tensor<2x3x8xi64>
    %4 = arith.select %3, %0, %zero : tensor<2x3x8xi1>, tensor<2x3x8xf32>
    %5 = gradus.reduce sum %4 axes [0, 1] : tensor<2x3x8xf32> -> tensor<8xf32>
    gradus.return %5 : tensor<8xf32>
  }

  // Nothing is written to memory only to be seen as a matrix: what has one of
  // the two dimensions alone stays, and reads the product through its view.
  // CHECK-LABEL: gradus.graph @positions
  // CHECK: %[[V:.*]] = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
  // CHECK: arith.mulf %[[V]], {{.*}} : tensor<2x3x8xf32>
  // CHECK: gradus.reduce sum {{.*}} axes [0] : tensor<2x3x8xf32> -> tensor<3x8xf32>
  gradus.graph @positions(%p: tensor<6x8xf32>, %e: tensor<3x8xf32>) -> (s: tensor<3x8xf32>) {
    %0 = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %1 = gradus.broadcast %e dims [1, 2] : tensor<3x8xf32> -> tensor<2x3x8xf32>
    %2 = arith.mulf %0, %1 : tensor<2x3x8xf32>
    %3 = gradus.reduce sum %2 axes [0] : tensor<2x3x8xf32> -> tensor<3x8xf32>
    gradus.return %3 : tensor<3x8xf32>
  }

  // Random bits are drawn by places, which are the same in the matrix.
  // CHECK-LABEL: gradus.graph @dropout
  // CHECK: gradus.random_bits %step stream 1 seed 2 : tensor<6x8xi64>
  // CHECK: arith.select {{.*}} : tensor<6x8xi1>, tensor<6x8xf32>
  gradus.graph @dropout(%p: tensor<6x8xf32>, %step: tensor<i64>) -> (y: tensor<6x8xf32>) {
    %0 = gradus.reshape %p : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %half = arith.constant dense<2147483648> : tensor<2x3x8xi64>
    %zero = arith.constant dense<0.0> : tensor<2x3x8xf32>
    %1 = gradus.random_bits %step stream 1 seed 2 : tensor<2x3x8xi64>
    %2 = arith.cmpi slt, %1, %half : tensor<2x3x8xi64>
    %3 = arith.select %2, %0, %zero : tensor<2x3x8xi1>, tensor<2x3x8xf32>
    %4 = gradus.reshape %3 : tensor<2x3x8xf32> -> tensor<6x8xf32>
    gradus.return %4 : tensor<6x8xf32>
  }

  // Rows of a matrix that is a view of a list stay rows.
  // CHECK-LABEL: gradus.graph @list
  // CHECK: gradus.reduce max {{.*}} axes [1] : tensor<4x4xf32> -> tensor<4xf32>
  // CHECK: arith.subf {{.*}} : tensor<4x4xf32>
  gradus.graph @list(%x: tensor<16xf32>) -> (y: tensor<4x4xf32>) {
    %0 = gradus.reshape %x : tensor<16xf32> -> tensor<4x4xf32>
    %1 = arith.addf %0, %0 : tensor<4x4xf32>
    %2 = gradus.reduce max %1 axes [1] : tensor<4x4xf32> -> tensor<4xf32>
    %3 = gradus.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
    %4 = arith.subf %1, %3 : tensor<4x4xf32>
    gradus.return %4 : tensor<4x4xf32>
  }

  // A view with other signs is another type.
  // CHECK-LABEL: gradus.graph @signs
  // CHECK: arith.uitofp {{.*}} : tensor<2x3x8xi8> to tensor<2x3x8xf32>
  gradus.graph @signs(%x: tensor<6x8xui8>) -> (y: tensor<2x3x8xf32>) {
    %0 = gradus.reshape %x : tensor<6x8xui8> -> tensor<2x3x8xi8>
    %1 = arith.uitofp %0 : tensor<2x3x8xi8> to tensor<2x3x8xf32>
    gradus.return %1 : tensor<2x3x8xf32>
  }

  // Updates stay where the state lies.
  // CHECK-LABEL: gradus.graph @update
  // CHECK: %[[W:.*]] = gradus.read @w
  // CHECK: %[[N:.*]] = arith.addf %[[W]], {{.*}} : tensor<2x3x8xf32>
  // CHECK: gradus.write @w, %[[N]]
  gradus.state @w : tensor<2x3x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @update(%g: tensor<6x8xf32>) -> () {
    %w = gradus.read @w : tensor<2x3x8xf32>
    %0 = gradus.reshape %g : tensor<6x8xf32> -> tensor<2x3x8xf32>
    %1 = arith.addf %w, %0 : tensor<2x3x8xf32>
    gradus.write @w, %1 : tensor<2x3x8xf32>
    gradus.return
  }

  // Where no matrix is there is nothing to do.
  // CHECK-LABEL: gradus.graph @untouched
  // CHECK: arith.addf {{.*}} : tensor<2x3x8xf32>
  gradus.graph @untouched(%x: tensor<2x3x8xf32>) -> (y: tensor<2x3x8xf32>) {
    %0 = arith.addf %x, %x : tensor<2x3x8xf32>
    gradus.return %0 : tensor<2x3x8xf32>
  }
}

// RUN: gradus-opt %s --codegen | FileCheck %s
// RUN: gradus-opt %s --codegen=stop-after=nests | FileCheck %s --check-prefix=NESTS
// RUN: gradus-opt %s --codegen=stop-after=select | FileCheck %s --check-prefix=ROWS
// RUN: gradus-opt %s --codegen=stop-after=fuse | FileCheck %s --check-prefix=NARROW

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

  // In 16 bits, too, the rows of matrices are in one dimension.
  // ROWS-LABEL: gradus.graph @rows
  // ROWS:         gradus.reshape %x : tensor<2x3x8xbf16> -> tensor<6x8xbf16>
  // ROWS-NOT:     2x3x8
  // ROWS:         gradus.reduce mean {{.*}} axes [1] : tensor<6x8xf32> -> tensor<6xf32>
  // ROWS-NOT:     2x3x8
  // ROWS:         gradus.return
  gradus.graph @rows(%x: tensor<2x3x8xbf16>, %p: tensor<6x8xbf16>) -> (y: tensor<6x8xbf16>) {
    %0 = gradus.reshape %p : tensor<6x8xbf16> -> tensor<2x3x8xbf16>
    %1 = arith.extf %0 : tensor<2x3x8xbf16> to tensor<2x3x8xf32>
    %2 = arith.extf %x : tensor<2x3x8xbf16> to tensor<2x3x8xf32>
    %3 = arith.addf %1, %2 : tensor<2x3x8xf32>
    %4 = gradus.reduce mean %3 axes [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
    %5 = gradus.broadcast %4 dims [0, 1] : tensor<2x3xf32> -> tensor<2x3x8xf32>
    %6 = arith.subf %3, %5 : tensor<2x3x8xf32>
    %7 = arith.truncf %6 : tensor<2x3x8xf32> to tensor<2x3x8xbf16>
    %8 = gradus.reshape %7 : tensor<2x3x8xbf16> -> tensor<6x8xbf16>
    gradus.return %8 : tensor<6x8xbf16>
  }

  // What has 16 bits is stored once, and widened where it is read.
  // NARROW-LABEL: gradus.graph @narrow
  // NARROW:         %[[N:.*]] = plan.nest parallel [8, 4]
  // NARROW:         plan.yield %{{[^,]*}} : bf16
  // NARROW-NEXT:    } -> tensor<8x4xbf16>{{$}}
  // NARROW:         plan.nest parallel [4] reduced [8] ins(%[[N]] : tensor<8x4xbf16>)
  gradus.graph @narrow(%g: tensor<8x4xbf16>, %m: tensor<8x4xi1>) -> (n: tensor<8x4xbf16>, s: tensor<4xf32>) {
    %zero = arith.constant dense<0.0> : tensor<8x4xbf16>
    %n = arith.select %m, %g, %zero : tensor<8x4xi1>, tensor<8x4xbf16>
    %w = arith.extf %n : tensor<8x4xbf16> to tensor<8x4xf32>
    %s = gradus.reduce sum %w axes [0] : tensor<8x4xf32> -> tensor<4xf32>
    gradus.return %n, %s : tensor<8x4xbf16>, tensor<4xf32>
  }
}

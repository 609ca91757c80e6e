// RUN: gradus-opt %s --select=provider=cuda --propagate-layouts=provider=cuda | FileCheck %s
// RUN: gradus-opt %s --select=library=always --propagate-layouts | FileCheck %s --check-prefix=ONEDNN
// RUN: gradus-opt %s --select="provider=cuda epilogues=bias" | FileCheck %s --check-prefix=BIAS
// RUN: gradus-opt %s --select="provider=cuda epilogues=none" | FileCheck %s --check-prefix=NONE

// No more than is asked for goes with a product.
// BIAS-NOT: "matmul+
// BIAS: label = "matmul+bias"
// BIAS-NOT: "matmul+
// NONE-NOT: "matmul+
// NONE-COUNT-13: label = "matmul"
// NONE-NOT: "matmul+

// oneDNN sums no operands, and has no slopes.
// ONEDNN-NOT: label = "matmul+sum"
// ONEDNN-NOT: gelu_tanh_gradient
gradus.program @epilogues {
  // The gradient of a bias is beside that of its weights, whichever operand it
  // is the sum of.
  // CHECK-LABEL: gradus.graph @bias_gradient
  // CHECK: %[[W:.*]]:2 = plan.library "matmul"(%x, %dy)
  // CHECK-SAME: dims = array<i64: 1, 192>, {{.*}} label = "matmul+sum"
  // CHECK-SAME: (tensor<256x128xbf16>, tensor<256x192xbf16>) -> (tensor<128x192xf32>, tensor<192xf32>)
  // CHECK-NEXT: %[[V:.*]]:2 = plan.library "matmul"(%dz, %x)
  // CHECK-SAME: dims = array<i64: 192, 1>, {{.*}} label = "matmul+sum"
  // CHECK-NOT: gradus.reduce
  // CHECK: gradus.return %[[W]]#0, %[[W]]#1, %[[V]]#0, %[[V]]#1
  gradus.graph @bias_gradient(%x: tensor<256x128xbf16>, %dy: tensor<256x192xbf16>, %dz: tensor<256x192xbf16>) -> (dw: tensor<128x192xf32>, db: tensor<192xf32>, dv: tensor<192x128xf32>, dc: tensor<192xf32>) {
    %0 = arith.extf %dy : tensor<256x192xbf16> to tensor<256x192xf32>
    %1 = gradus.reduce sum %0 axes [0] : tensor<256x192xf32> -> tensor<192xf32>
    %2 = gradus.matmul %x transposed, %dy : tensor<256x128xbf16>, tensor<256x192xbf16> -> tensor<128x192xf32>
    %3 = gradus.matmul %dz transposed, %x : tensor<256x192xbf16>, tensor<256x128xbf16> -> tensor<192x128xf32>
    %z = arith.extf %dz : tensor<256x192xbf16> to tensor<256x192xf32>
    %4 = gradus.reduce sum %z axes [0] : tensor<256x192xf32> -> tensor<192xf32>
    gradus.return %2, %1, %3, %4 : tensor<128x192xf32>, tensor<192xf32>, tensor<192x128xf32>, tensor<192xf32>
  }

  // So it is where the rows are of two dimensions.
  // CHECK-LABEL: gradus.graph @rows_of_two_dimensions
  // CHECK: %[[W:.*]]:2 = plan.library "matmul"
  // CHECK-NOT: gradus.reduce
  // CHECK: gradus.return %[[W]]#0, %[[W]]#1
  gradus.graph @rows_of_two_dimensions(%x: tensor<256x128xf32>, %dy: tensor<4x64x192xf32>) -> (dw: tensor<128x192xf32>, db: tensor<192xf32>) {
    %0 = gradus.reduce sum %dy axes [0, 1] : tensor<4x64x192xf32> -> tensor<192xf32>
    %1 = gradus.reshape %dy : tensor<4x64x192xf32> -> tensor<256x192xf32>
    %2 = gradus.matmul %x transposed, %1 : tensor<256x128xf32>, tensor<256x192xf32> -> tensor<128x192xf32>
    gradus.return %2, %0 : tensor<128x192xf32>, tensor<192xf32>
  }

  // Not where it is another sum, one of another type than the product, one that
  // somebody reads before, or one of a batch.
  // CHECK-LABEL: gradus.graph @other_sums
  // CHECK-NOT: label = "matmul+sum"
  // CHECK-COUNT-5: gradus.reduce
  // CHECK-NOT: label = "matmul+sum"
  // CHECK: gradus.return
  gradus.graph @other_sums(%x: tensor<256x128xf32>, %dy: tensor<256x192xf32>, %n: tensor<256x128xbf16>, %b: tensor<2x64x128xf32>) -> (dw: tensor<128x192xf32>, s: tensor<256xf32>, m: tensor<192xf32>, nw: tensor<128x128xbf16>, ns: tensor<128xf32>, w: tensor<192xf32>, e: tensor<2x64x64xf32>, c: tensor<2x64xf32>) {
    %0 = gradus.reduce sum %dy axes [1] : tensor<256x192xf32> -> tensor<256xf32>
    %1 = gradus.reduce max %dy axes [0] : tensor<256x192xf32> -> tensor<192xf32>
    %2 = gradus.reduce sum %dy axes [0] : tensor<256x192xf32> -> tensor<192xf32>
    %3 = arith.addf %2, %2 : tensor<192xf32>
    %4 = gradus.matmul %x transposed, %dy : tensor<256x128xf32>, tensor<256x192xf32> -> tensor<128x192xf32>
    %5 = gradus.matmul %n transposed, %n : tensor<256x128xbf16>, tensor<256x128xbf16> -> tensor<128x128xf32>
    %6 = arith.truncf %5 : tensor<128x128xf32> to tensor<128x128xbf16>
    %7 = arith.extf %n : tensor<256x128xbf16> to tensor<256x128xf32>
    %8 = gradus.reduce sum %7 axes [0] : tensor<256x128xf32> -> tensor<128xf32>
    %9 = gradus.matmul %b, %b transposed : tensor<2x64x128xf32>, tensor<2x64x128xf32> -> tensor<2x64x64xf32>
    %10 = gradus.reduce sum %b axes [2] : tensor<2x64x128xf32> -> tensor<2x64xf32>
    gradus.return %4, %0, %1, %6, %8, %3, %9, %10 : tensor<128x192xf32>, tensor<256xf32>, tensor<192xf32>, tensor<128x128xbf16>, tensor<128xf32>, tensor<192xf32>, tensor<2x64x64xf32>, tensor<2x64xf32>
  }

  // Nor of an operand that does not lie as vectors to add: cuBLASLt has BGRADA
  // and BGRADB for the others alone.
  // CHECK-LABEL: gradus.graph @sums_of_rows
  // CHECK-NOT: label = "matmul+sum"
  // CHECK: gradus.return
  gradus.graph @sums_of_rows(%x: tensor<256x128xf32>, %w: tensor<192x128xf32>) -> (y: tensor<256x192xf32>, s: tensor<256xf32>, t: tensor<192xf32>) {
    %0 = gradus.matmul %x, %w transposed : tensor<256x128xf32>, tensor<192x128xf32> -> tensor<256x192xf32>
    %1 = gradus.reduce sum %x axes [1] : tensor<256x128xf32> -> tensor<256xf32>
    %2 = gradus.reduce sum %w axes [1] : tensor<192x128xf32> -> tensor<192xf32>
    gradus.return %0, %1, %2 : tensor<256x192xf32>, tensor<256xf32>, tensor<192xf32>
  }

  // A step keeps what gelu is of: the call writes both, rounding each once, and
  // the gradient's call reads it.
  // CHECK-LABEL: gradus.graph @gelu
  // CHECK: %[[Y:.*]]:2 = plan.library "matmul"(%x, %w, %b) config {activation = "gelu_tanh"}
  // CHECK-SAME: label = "matmul+bias+gelu_tanh"
  // CHECK-SAME: -> (tensor<256x192xbf16>, tensor<256x192xbf16>)
  // CHECK: %[[Z:.*]] = gradus.reshape %[[Y]]#0 : tensor<256x192xbf16> -> tensor<4x64x192xbf16>
  // CHECK-NOT: gradus.gelu
  // CHECK: %[[D:.*]] = plan.library "matmul"(%g, %v, %[[Y]]#1) config {activation = "gelu_tanh_gradient"}
  // CHECK-SAME: label = "matmul+gelu_tanh_gradient"
  // CHECK-NOT: math.tanh
  // CHECK: %[[E:.*]] = gradus.reshape %[[D]]
  // CHECK: gradus.return %[[Z]], %[[E]]
  gradus.graph @gelu(%x: tensor<256x128xbf16>, %w: tensor<128x192xbf16>, %b: tensor<192xbf16>, %g: tensor<256x128xbf16>, %v: tensor<128x192xbf16>) -> (y: tensor<4x64x192xbf16>, d: tensor<4x64x192xbf16>) {
    %0 = gradus.matmul %x, %w : tensor<256x128xbf16>, tensor<128x192xbf16> -> tensor<256x192xf32>
    %wide = arith.extf %b : tensor<192xbf16> to tensor<192xf32>
    %1 = gradus.broadcast %wide dims [1] : tensor<192xf32> -> tensor<256x192xf32>
    %2 = arith.addf %0, %1 : tensor<256x192xf32>
    %3 = arith.truncf %2 : tensor<256x192xf32> to tensor<256x192xbf16>
    %4 = gradus.reshape %3 : tensor<256x192xbf16> -> tensor<4x64x192xbf16>
    %x0 = arith.extf %4 : tensor<4x64x192xbf16> to tensor<4x64x192xf32>
    %5 = gradus.gelu %x0 tanh : tensor<4x64x192xf32>
    %6 = arith.truncf %5 : tensor<4x64x192xf32> to tensor<4x64x192xbf16>
    %7 = gradus.matmul %g, %v : tensor<256x128xbf16>, tensor<128x192xbf16> -> tensor<256x192xf32>
    %8 = arith.truncf %7 : tensor<256x192xf32> to tensor<256x192xbf16>
    %9 = gradus.reshape %8 : tensor<256x192xbf16> -> tensor<4x64x192xbf16>
    %10 = arith.extf %9 : tensor<4x64x192xbf16> to tensor<4x64x192xf32>
    %c = arith.constant dense<0.79788456080286541> : tensor<4x64x192xf32>
    %k = arith.constant dense<0.044715> : tensor<4x64x192xf32>
    %k3 = arith.constant dense<0.134145> : tensor<4x64x192xf32>
    %one = arith.constant dense<1.0> : tensor<4x64x192xf32>
    %half = arith.constant dense<0.5> : tensor<4x64x192xf32>
    %square = arith.mulf %x0, %x0 : tensor<4x64x192xf32>
    %cube = arith.mulf %square, %x0 : tensor<4x64x192xf32>
    %11 = arith.mulf %cube, %k : tensor<4x64x192xf32>
    %12 = arith.addf %x0, %11 : tensor<4x64x192xf32>
    %13 = arith.mulf %12, %c : tensor<4x64x192xf32>
    %t = math.tanh %13 : tensor<4x64x192xf32>
    %14 = arith.mulf %square, %k3 : tensor<4x64x192xf32>
    %15 = arith.addf %14, %one : tensor<4x64x192xf32>
    %16 = arith.mulf %15, %c : tensor<4x64x192xf32>
    %17 = arith.mulf %t, %t : tensor<4x64x192xf32>
    %18 = arith.subf %one, %17 : tensor<4x64x192xf32>
    %19 = arith.mulf %x0, %18 : tensor<4x64x192xf32>
    %20 = arith.mulf %19, %16 : tensor<4x64x192xf32>
    %21 = arith.addf %t, %one : tensor<4x64x192xf32>
    %22 = arith.addf %21, %20 : tensor<4x64x192xf32>
    %23 = arith.mulf %22, %half : tensor<4x64x192xf32>
    %24 = arith.mulf %10, %23 : tensor<4x64x192xf32>
    %25 = arith.truncf %24 : tensor<4x64x192xf32> to tensor<4x64x192xbf16>
    gradus.return %6, %25 : tensor<4x64x192xbf16>, tensor<4x64x192xbf16>
  }

  // Nobody reads what this one is of.
  // CHECK-LABEL: gradus.graph @gelu_alone
  // CHECK: plan.library "matmul"(%x, %w) config {activation = "gelu_tanh"}
  // CHECK-SAME: -> tensor<256x192xbf16>
  gradus.graph @gelu_alone(%x: tensor<256x128xbf16>, %w: tensor<128x192xbf16>) -> (y: tensor<256x192xbf16>) {
    %0 = gradus.matmul %x, %w : tensor<256x128xbf16>, tensor<128x192xbf16> -> tensor<256x192xf32>
    %1 = arith.truncf %0 : tensor<256x192xf32> to tensor<256x192xbf16>
    %2 = arith.extf %1 : tensor<256x192xbf16> to tensor<256x192xf32>
    %3 = gradus.gelu %2 tanh : tensor<256x192xf32>
    %4 = arith.truncf %3 : tensor<256x192xf32> to tensor<256x192xbf16>
    gradus.return %4 : tensor<256x192xbf16>
  }

  // cuBLASLt's gelu is that of tanh, keeps rows of a multiple of 8, and gives
  // both in one type.
  // CHECK-LABEL: gradus.graph @other_gelus
  // CHECK-NOT: activation
  // CHECK: gradus.return
  gradus.graph @other_gelus(%x: tensor<256x128xf32>, %w: tensor<128x192xf32>, %v: tensor<128x196xf32>, %n: tensor<256x128xbf16>, %u: tensor<128x192xbf16>) -> (a: tensor<256x192xf32>, b: tensor<256x192xf32>, c: tensor<256x196xf32>, d: tensor<256x196xf32>, e: tensor<256x192xbf16>, f: tensor<256x192xf32>) {
    %0 = gradus.matmul %x, %w : tensor<256x128xf32>, tensor<128x192xf32> -> tensor<256x192xf32>
    %1 = gradus.gelu %0 : tensor<256x192xf32>
    %2 = gradus.matmul %x, %v : tensor<256x128xf32>, tensor<128x196xf32> -> tensor<256x196xf32>
    %3 = gradus.gelu %2 tanh : tensor<256x196xf32>
    %4 = gradus.matmul %n, %u : tensor<256x128xbf16>, tensor<128x192xbf16> -> tensor<256x192xf32>
    %5 = arith.truncf %4 : tensor<256x192xf32> to tensor<256x192xbf16>
    %6 = arith.extf %5 : tensor<256x192xbf16> to tensor<256x192xf32>
    %7 = gradus.gelu %6 tanh : tensor<256x192xf32>
    gradus.return %0, %1, %2, %3, %5, %7 : tensor<256x192xf32>, tensor<256x192xf32>, tensor<256x196xf32>, tensor<256x196xf32>, tensor<256x192xbf16>, tensor<256x192xf32>
  }

  // Slopes that are not gelu's, and a product that others read, too.
  // CHECK-LABEL: gradus.graph @other_slopes
  // CHECK-NOT: activation
  // CHECK: gradus.return
  gradus.graph @other_slopes(%g: tensor<256x128xf32>, %v: tensor<128x192xf32>, %x: tensor<256x192xf32>) -> (d: tensor<256x192xf32>) {
    %0 = gradus.matmul %g, %v : tensor<256x128xf32>, tensor<128x192xf32> -> tensor<256x192xf32>
    %1 = arith.mulf %0, %x : tensor<256x192xf32>
    gradus.return %1 : tensor<256x192xf32>
  }
}

// RUN: gradus-opt %s --mixed-precision | FileCheck %s
// RUN: gradus-opt %s --mixed-precision --mixed-precision | FileCheck %s

// Between products values are stored in 16 bits: batch norm and relu keep them,
// a residual is added in f32 and rounded once. The logits stay as they are.
// CHECK-LABEL: gradus.program @residual
// CHECK:         gradus.convolution {{.*}} tensor<2x4x8x8xbf16>, tensor<4x4x3x3xbf16> -> tensor<2x4x8x8xf32>
// CHECK-NEXT:    %[[C:.*]] = arith.truncf {{.*}} to tensor<2x4x8x8xbf16>
// CHECK:         gradus.batch_norm %[[C]], {{.*}} : tensor<2x4x8x8xbf16>, tensor<4xf32>
// CHECK:         %[[R:.*]] = gradus.relu {{.*}} : tensor<2x4x8x8xbf16>
// CHECK-NEXT:    %[[W:.*]] = arith.extf %[[R]]
// CHECK:         gradus.convolution %[[R]], {{.*}} tensor<4x4x1x1xbf16> -> tensor<2x4x8x8xf32>
// CHECK:         %[[S:.*]] = arith.addf {{.*}}%[[W]] : tensor<2x4x8x8xf32>
// CHECK-NEXT:    arith.truncf %[[S]]
// CHECK:         gradus.relu
// CHECK:         gradus.reduce mean {{.*}} tensor<2x4x8x8xf32>
// CHECK:         %[[L:.*]] = gradus.matmul {{.*}} tensor<2x4xbf16>, tensor<3x4xbf16> -> tensor<2x3xf32>
// CHECK-NEXT:    gradus.return %[[L]]
gradus.program @residual attributes {recipe = {precision = "bf16"}} {
  gradus.state @w : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d : tensor<3x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @s : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x8x8xf32>) -> (logits: tensor<2x3xf32>) {
    %w = gradus.read @w : tensor<4x4x3x3xf32>
    %v = gradus.read @v : tensor<4x4x1x1xf32>
    %d = gradus.read @d : tensor<3x4xf32>
    %s = gradus.read @s : tensor<4xf32>
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x8x8xf32>
    %1 = gradus.batch_norm %0, %s, %s mean %s variance %s epsilon 1.0e-5 : tensor<2x4x8x8xf32>, tensor<4xf32>
    %2 = gradus.relu %1 : tensor<2x4x8x8xf32>
    %3 = gradus.convolution %2, %v strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x8x8xf32>
    %4 = arith.addf %3, %2 : tensor<2x4x8x8xf32>
    %5 = gradus.relu %4 : tensor<2x4x8x8xf32>
    %6 = gradus.reduce mean %5 axes [2, 3] : tensor<2x4x8x8xf32> -> tensor<2x4xf32>
    %7 = gradus.matmul %6, %d transposed : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
    gradus.return %7 : tensor<2x3xf32>
  }
}

// What is added to an embedding stays f32, and a layer norm is f32.
// CHECK-LABEL: gradus.program @stream
// CHECK:         %[[P:.*]] = gradus.matmul {{.*}}xf16>, {{.*}}xf16> -> tensor<2x4xf32>
// CHECK-NEXT:    %[[T:.*]] = arith.truncf %[[P]] {{.*}} to tensor<2x4xf16>
// CHECK-NEXT:    %[[E:.*]] = arith.extf %[[T]]
// CHECK-NEXT:    %[[X:.*]] = arith.addf %{{.*}}, %[[E]] : tensor<2x4xf32>
// CHECK-NEXT:    gradus.layer_norm %[[X]], {{.*}} : tensor<2x4xf32>
gradus.program @stream attributes {recipe = {precision = "f16"}} {
  gradus.state @t : tensor<9x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @s : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%i: tensor<2xi64>) -> (y: tensor<2x4xf32>) {
    %t = gradus.read @t : tensor<9x4xf32>
    %w = gradus.read @w : tensor<4x4xf32>
    %s = gradus.read @s : tensor<4xf32>
    %0 = gradus.gather %t at %i axis 0 : tensor<9x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
    %1 = gradus.matmul %0, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %2 = arith.addf %0, %1 : tensor<2x4xf32>
    %3 = gradus.layer_norm %2, %s {epsilon = 1.0e-5 : f64} : tensor<2x4xf32>, tensor<4xf32>
    gradus.return %3 : tensor<2x4xf32>
  }
}

// A value stays narrow through batch norm, moves and a bias; a tanh inside
// arithmetic is f32 like the rest; a gather sums its gradient in f32; positions
// and what sums nothing keep their digits; the head's logits are not rounded
// before or behind their bias.
// CHECK-LABEL: gradus.program @kinds
// CHECK:         gradus.batch_norm {{.*}} : tensor<2x4x8x8xbf16>
// CHECK:         arith.addf {{.*}} : tensor<2x4x8x8xf32>
// CHECK-NEXT:    arith.truncf {{.*}} to tensor<2x4x8x8xbf16>
// CHECK-NEXT:    gradus.relu {{.*}} : tensor<2x4x8x8xbf16>
// CHECK:         gradus.reshape {{.*}} : tensor<2x4x8x8xbf16> -> tensor<8x64xbf16>
// CHECK:         math.tanh {{.*}} : tensor<8x64xf32>
// CHECK-NOT:     truncf
// CHECK:         gradus.matmul {{.*}} : tensor<8x1xf32>, tensor<1x64xf32> -> tensor<8x64xf32>
// CHECK:         gradus.gather {{.*}} : tensor<8x64xf32>, tensor<3xi64> -> tensor<3x64xf32>
// CHECK:         %[[L:.*]] = gradus.matmul {{.*}}bf16>, {{.*}}bf16> -> tensor<3x5xf32>
// CHECK:         %[[B:.*]] = arith.addf %[[L]], {{.*}} : tensor<3x5xf32>
// CHECK-NEXT:    gradus.return %[[B]]
gradus.program @kinds attributes {recipe = {precision = "bf16"}} {
  gradus.state @w : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @s : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @r : tensor<1x64xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @h : tensor<5x64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4x8x8xf32>, %p: tensor<8x1xi64>, %i: tensor<3xi64>) -> (logits: tensor<3x5xf32>) {
    %w = gradus.read @w : tensor<4x4x3x3xf32>
    %s = gradus.read @s : tensor<4xf32>
    %r = gradus.read @r : tensor<1x64xf32>
    %h = gradus.read @h : tensor<5x64xf32>
    %b = gradus.read @b : tensor<5xf32>
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x8x8xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x8x8xf32>
    %1 = gradus.batch_norm %0, %s, %s mean %s variance %s epsilon 1.0e-5 : tensor<2x4x8x8xf32>, tensor<4xf32>
    %2 = arith.addf %1, %1 : tensor<2x4x8x8xf32>
    %3 = gradus.relu %2 : tensor<2x4x8x8xf32>
    %4 = gradus.reshape %3 : tensor<2x4x8x8xf32> -> tensor<8x64xf32>
    %5 = math.tanh %4 : tensor<8x64xf32>
    %6 = arith.mulf %5, %4 : tensor<8x64xf32>
    %7 = arith.sitofp %p : tensor<8x1xi64> to tensor<8x1xf32>
    %8 = gradus.matmul %7, %r : tensor<8x1xf32>, tensor<1x64xf32> -> tensor<8x64xf32>
    %9 = arith.addf %6, %8 : tensor<8x64xf32>
    %10 = gradus.gather %9 at %i axis 0 : tensor<8x64xf32>, tensor<3xi64> -> tensor<3x64xf32>
    %11 = gradus.matmul %10, %h transposed : tensor<3x64xf32>, tensor<5x64xf32> -> tensor<3x5xf32>
    %12 = gradus.broadcast %b dims [1] : tensor<5xf32> -> tensor<3x5xf32>
    %13 = arith.addf %11, %12 : tensor<3x5xf32>
    gradus.return %13 : tensor<3x5xf32>
  }
}

// A bias is an operand of its product of matrices, and the sum is rounded once;
// one of another shape, or of a product that others read, is added to what is
// rounded.
// CHECK-LABEL: gradus.program @biased
// CHECK:         %[[B:.*]] = arith.truncf %{{.*}} : tensor<5xf32> to tensor<5xbf16>
// CHECK:         %[[P:.*]] = gradus.matmul {{.*}} -> tensor<2x5xf32>
// CHECK-NEXT:    %[[W:.*]] = arith.extf %[[B]]
// CHECK-NEXT:    %[[R:.*]] = gradus.broadcast %[[W]] dims [1]
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[P]], %[[R]] : tensor<2x5xf32>
// CHECK-NEXT:    %[[T:.*]] = arith.truncf %[[S]] : tensor<2x5xf32> to tensor<2x5xbf16>
// CHECK-NEXT:    gradus.relu %[[T]]
// CHECK:         %[[Q:.*]] = gradus.matmul {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT:    arith.truncf %[[Q]]
// CHECK:         gradus.broadcast %{{.*}} dims [0] : tensor<2xf32>
// CHECK:         %[[L:.*]] = gradus.matmul {{.*}} -> tensor<2x3xf32>
// CHECK-NEXT:    arith.truncf %[[L]]
// CHECK:         gradus.broadcast %{{.*}} dims [1] : tensor<3xf32>
gradus.program @biased attributes {recipe = {precision = "bf16"}} {
  gradus.state @w : tensor<4x5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<5x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @u : tensor<4x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x3xf32>) {
    %w = gradus.read @w : tensor<4x5xf32>
    %v = gradus.read @v : tensor<5x4xf32>
    %u = gradus.read @u : tensor<4x3xf32>
    %b = gradus.read @b : tensor<5xf32>
    %c = gradus.read @c : tensor<2xf32>
    %d = gradus.read @d : tensor<3xf32>
    %0 = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<5xf32> -> tensor<2x5xf32>
    %2 = arith.addf %0, %1 : tensor<2x5xf32>
    %3 = gradus.relu %2 : tensor<2x5xf32>
    %4 = gradus.matmul %3, %v : tensor<2x5xf32>, tensor<5x4xf32> -> tensor<2x4xf32>
    %5 = gradus.broadcast %c dims [0] : tensor<2xf32> -> tensor<2x4xf32>
    %6 = arith.addf %4, %5 : tensor<2x4xf32>
    %7 = gradus.matmul %6, %u : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
    %8 = gradus.broadcast %d dims [1] : tensor<3xf32> -> tensor<2x3xf32>
    %9 = arith.addf %7, %8 : tensor<2x3xf32>
    %10 = gradus.relu %7 : tensor<2x3xf32>
    %11 = arith.mulf %9, %10 : tensor<2x3xf32>
    gradus.return %11 : tensor<2x3xf32>
  }
}

// Matmuls in the steps of a scan read 16 bits and sum in f32; a weight is
// rounded once, outside. What the scan stacks of them is worth 16 bits; what it
// stacks of anything wider, and what goes to the loss, keeps its digits.
// CHECK-LABEL: gradus.program @steps
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK-NEXT:    %[[N:.*]] = arith.truncf %[[W]] : tensor<4x4xf32> to tensor<4x4xbf16>
// CHECK:         %[[S:.*]]:4 = gradus.scan 3 carry(%h : tensor<2x4xf32>) over(%{{.*}}, %z : {{.*}}) with(%[[W]], %[[N]] : {{.*}}) body {
// CHECK-NEXT:    ^bb0(%[[H:.*]]: tensor<2x4xf32>, %[[X:.*]]: tensor<2x4xf32>, %{{.*}}: tensor<2x4xf32>, %{{.*}}: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xbf16>):
// CHECK-NEXT:    %[[R:.*]] = arith.truncf %[[H]] : tensor<2x4xf32> to tensor<2x4xbf16>
// CHECK-NEXT:    %[[P:.*]] = gradus.matmul %[[R]], %[[V]] transposed : {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT:    %[[Q:.*]] = arith.addf %[[P]], %[[X]]
// CHECK:         %[[B:.*]] = arith.truncf %[[S]]#1
// CHECK:         gradus.relu %[[B]] : tensor<3x2x4xbf16>
// CHECK:         gradus.relu %[[S]]#2 : tensor<3x2x4xf32>
// CHECK:         gradus.return %{{.*}}, %{{.*}}, %[[S]]#3
gradus.program @steps attributes {recipe = {precision = "bf16"}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%h: tensor<2x4xf32>, %x: tensor<6x4xf32>, %z: tensor<3x2x4xf32>) -> (y: tensor<3x2x4xf32>, wide: tensor<3x2x4xf32>, last: tensor<3x2x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %0 = gradus.matmul %x, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
    %1 = gradus.reshape %0 : tensor<6x4xf32> -> tensor<3x2x4xf32>
    %state, %all, %squares, %lasts = gradus.scan 3 carry(%h : tensor<2x4xf32>) over(%1, %z : tensor<3x2x4xf32>, tensor<3x2x4xf32>) with(%w : tensor<4x4xf32>) body {
    ^bb0(%a: tensor<2x4xf32>, %t: tensor<2x4xf32>, %s: tensor<2x4xf32>, %v: tensor<4x4xf32>):
      %p = gradus.matmul %a, %v transposed : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
      %q = arith.addf %p, %t : tensor<2x4xf32>
      %r = arith.mulf %s, %s : tensor<2x4xf32>
      %u = math.tanh %q : tensor<2x4xf32>
      gradus.yield %q, %q, %r, %u : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
    } -> tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>
    %2 = gradus.relu %all : tensor<3x2x4xf32>
    %3 = gradus.relu %squares : tensor<3x2x4xf32>
    gradus.return %2, %3, %lasts : tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>
  }
}

// A reshape that keeps rows stands between a product and its bias: the bias is
// added before it. Behind one that cuts rows it is added to what is rounded.
// CHECK-LABEL: gradus.program @behind_reshape
// CHECK:         %[[P:.*]] = gradus.matmul {{.*}} -> tensor<6x4xf32>
// CHECK:         %[[R:.*]] = gradus.broadcast %{{.*}} dims [1] : tensor<4xf32> -> tensor<6x4xf32>
// CHECK:         %[[S:.*]] = arith.addf %[[P]], %[[R]] : tensor<6x4xf32>
// CHECK-NEXT:    %[[T:.*]] = arith.truncf %[[S]]
// CHECK-NEXT:    gradus.reshape %[[T]] : tensor<6x4xbf16> -> tensor<2x3x4xbf16>
// CHECK:         %[[Q:.*]] = gradus.matmul {{.*}} -> tensor<6x4xf32>
// CHECK-NEXT:    arith.truncf %[[Q]]
// CHECK:         gradus.broadcast %{{.*}} dims [2] : tensor<2xf32> -> tensor<6x2x2xf32>
gradus.program @behind_reshape attributes {recipe = {precision = "bf16"}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<6x4xf32>) -> (y: tensor<6x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %b = gradus.read @b : tensor<4xf32>
    %c = gradus.read @c : tensor<2xf32>
    %0 = gradus.matmul %x, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
    %1 = gradus.reshape %0 : tensor<6x4xf32> -> tensor<2x3x4xf32>
    %2 = gradus.broadcast %b dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
    %3 = arith.addf %2, %1 : tensor<2x3x4xf32>
    %4 = gradus.relu %3 : tensor<2x3x4xf32>
    %5 = gradus.reshape %4 : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %6 = gradus.matmul %5, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
    %7 = gradus.reshape %6 : tensor<6x4xf32> -> tensor<6x2x2xf32>
    %8 = gradus.broadcast %c dims [2] : tensor<2xf32> -> tensor<6x2x2xf32>
    %9 = arith.addf %7, %8 : tensor<6x2x2xf32>
    %10 = gradus.reshape %9 : tensor<6x2x2xf32> -> tensor<6x4xf32>
    %11 = gradus.matmul %10, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
    gradus.return %11 : tensor<6x4xf32>
  }
}

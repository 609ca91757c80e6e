// RUN: gradus-opt %s --autodiff --trace-factors | FileCheck %s
// RUN: gradus-opt %s --autodiff --trace-factors --trace-factors | FileCheck %s
// RUN: gradus-opt %s --autodiff --trace-factors --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A 1 behind three inputs, in blocks that have room for it: the means of the
// inputs are its row and its column. A layer whose blocks are full gets another.
// CHECK-LABEL: gradus.program @dense
// CHECK:         gradus.gram %x axis 1 block 4 : tensor<8x3xf32> -> tensor<1x4x4xf32>
// CHECK:         gradus.reduce mean %x axes [0] : tensor<8x3xf32> -> tensor<3xf32>
// CHECK:         gradus.factors @w inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 1>, gradus.joined = "b", kind = "dense"} : tensor<1x4x4xf32>, tensor<1x4x4xf32>
// CHECK:         gradus.gram %{{.*}} axis 1 block 4 : tensor<8x4xf32> -> tensor<1x4x4xf32>
// CHECK:         gradus.pad %{{.*}} : tensor<1x1x4x4xf32> -> tensor<1x2x4x4xf32>
// CHECK:         gradus.factors @v inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 0>, gradus.joined = "c", kind = "dense"} : tensor<2x4x4xf32>, tensor<1x2x2xf32>
// REMARK-DAG:    b joins w as the weight of an input that is always 1
// REMARK-DAG:    c joins v as the weight of an input that is always 1
gradus.program @dense attributes {recipe = {precondition = {type = "thor", block = 4 : i64, bias = "joined"}}} {
  gradus.state @b : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4x3xf32>
    %b = gradus.read @b : tensor<4xf32>
    %v = gradus.read @v : tensor<4x2xf32>
    %c = gradus.read @c : tensor<2xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<4x3xf32> -> tensor<8x4xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<4xf32> -> tensor<8x4xf32>
    %h = arith.addf %0, %1 : tensor<8x4xf32>
    %2 = gradus.matmul %h, %v : tensor<8x4xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
    %3 = gradus.broadcast %c dims [1] : tensor<2xf32> -> tensor<8x2xf32>
    %y = arith.addf %2, %3 : tensor<8x2xf32>
    %4 = arith.mulf %y, %y : tensor<8x2xf32>
    %loss = gradus.reduce mean %4 axes [0, 1] : tensor<8x2xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// The sum of a window's patches is the gradient of a weight with one output a
// group. A layer without a bias has none, nor has one whose inputs are left
// alone.
// CHECK-LABEL: gradus.program @others
// CHECK:         gradus.gram %x window [3, 2] {{.*}} groups 2 block 13 : tensor<4x4x8x8xf32> -> tensor<2x13x13xf32>
// CHECK:         gradus.convolution_backward_weights %x, %{{.*}} groups 2 : tensor<4x4x8x8xf32>, tensor<4x2x4x8xf32> -> tensor<2x2x3x2xf32>
// CHECK:         gradus.factors @w inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 1, 2, 3>, gradus.joined = "b", groups = 2 : i64
// CHECK:         gradus.factors @v inputs
// CHECK-NOT:     gradus.joined
// CHECK-SAME:    kind = "dense"
// CHECK:         gradus.factors @u outputs
// CHECK-NOT:     gradus.joined
// REMARK:        d keeps its gradient
gradus.program @others attributes {recipe = {precondition = {type = "thor", bias = "joined", limit = 12 : i64}}} {
  gradus.state @w : tensor<6x2x3x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<6xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<8x5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @u : tensor<960x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4x4x8x8xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<6x2x3x2xf32>
    %b = gradus.read @b : tensor<6xf32>
    %v = gradus.read @v : tensor<8x5xf32>
    %u = gradus.read @u : tensor<960x3xf32>
    %d = gradus.read @d : tensor<3xf32>
    %0 = gradus.convolution %x, %w strides [2, 1] pads [1, 0] to [0, 1] dilations [1, 1] groups 2
        : tensor<4x4x8x8xf32>, tensor<6x2x3x2xf32> -> tensor<4x6x4x8xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<6xf32> -> tensor<4x6x4x8xf32>
    %h = arith.addf %0, %1 : tensor<4x6x4x8xf32>
    %2 = gradus.reshape %h : tensor<4x6x4x8xf32> -> tensor<96x8xf32>
    %3 = gradus.matmul %2, %v : tensor<96x8xf32>, tensor<8x5xf32> -> tensor<96x5xf32>
    %4 = arith.mulf %3, %3 : tensor<96x5xf32>
    %5 = gradus.concatenate %4, %3 axis 0 : tensor<96x5xf32>, tensor<96x5xf32> -> tensor<192x5xf32>
    %6 = gradus.reshape %5 : tensor<192x5xf32> -> tensor<1x960xf32>
    %7 = gradus.matmul %6, %u : tensor<1x960xf32>, tensor<960x3xf32> -> tensor<1x3xf32>
    %8 = gradus.broadcast %d dims [1] : tensor<3xf32> -> tensor<1x3xf32>
    %y = arith.addf %7, %8 : tensor<1x3xf32>
    %9 = arith.mulf %y, %y : tensor<1x3xf32>
    %loss = gradus.reduce mean %9 axes [0, 1] : tensor<1x3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// A bias of all uses of a weight joins it, each use with a 1; one that only some
// of them have keeps its gradient.
// CHECK-LABEL: gradus.program @uses
// CHECK-DAG:     gradus.gram %x axis 1 block 4 : tensor<8x3xf32> -> tensor<1x4x4xf32>
// CHECK-DAG:     gradus.gram %z axis 1 block 4 : tensor<16x3xf32> -> tensor<1x4x4xf32>
// CHECK-DAG:     gradus.reduce mean %x axes [0] : tensor<8x3xf32> -> tensor<3xf32>
// CHECK-DAG:     gradus.reduce mean %z axes [0] : tensor<16x3xf32> -> tensor<3xf32>
// CHECK-DAG:     arith.constant dense<0.333333343> : tensor<1x4x4xf32>
// CHECK-DAG:     arith.constant dense<0.666666686> : tensor<1x4x4xf32>
// CHECK:         gradus.factors @w inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 1>, gradus.joined = "b", kind = "dense"} : tensor<1x4x4xf32>, tensor<1x2x2xf32>
// CHECK:         gradus.factors @v inputs
// CHECK-NOT:     gradus.joined
// CHECK-SAME:    kind = "dense"
// REMARK-DAG:    b joins w as the weight of an input that is always 1
// REMARK-DAG:    c keeps its gradient
gradus.program @uses attributes {recipe = {precondition = {type = "thor", bias = "joined"}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>, %z: tensor<16x3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %b = gradus.read @b : tensor<2xf32>
    %v = gradus.read @v : tensor<2x3xf32>
    %c = gradus.read @c : tensor<2xf32>
    %few = gradus.broadcast %b dims [1] : tensor<2xf32> -> tensor<8x2xf32>
    %many = gradus.broadcast %b dims [1] : tensor<2xf32> -> tensor<16x2xf32>
    %one = gradus.broadcast %c dims [1] : tensor<2xf32> -> tensor<8x2xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
    %1 = gradus.matmul %z, %w transposed : tensor<16x3xf32>, tensor<2x3xf32> -> tensor<16x2xf32>
    %2 = gradus.matmul %x, %v transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
    %3 = gradus.matmul %z, %v transposed : tensor<16x3xf32>, tensor<2x3xf32> -> tensor<16x2xf32>
    %4 = arith.addf %0, %few : tensor<8x2xf32>
    %5 = arith.addf %1, %many : tensor<16x2xf32>
    %6 = arith.addf %2, %one : tensor<8x2xf32>
    %7 = arith.mulf %4, %6 : tensor<8x2xf32>
    %8 = arith.mulf %5, %3 : tensor<16x2xf32>
    %9 = gradus.reduce mean %7 axes [0, 1] : tensor<8x2xf32> -> tensor<f32>
    %10 = gradus.reduce mean %8 axes [0, 1] : tensor<16x2xf32> -> tensor<f32>
    %loss = arith.addf %9, %10 : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// The windows of a transposed convolution share outputs, and a bias counts an
// output once.
// CHECK-LABEL: gradus.program @transposed
// CHECK:         gradus.factors @w inputs
// CHECK-NOT:     gradus.joined
// CHECK-SAME:    kind = "convolution"
// REMARK-DAG:    b keeps its gradient
gradus.program @transposed attributes {recipe = {precondition = {type = "thor", bias = "joined"}}} {
  gradus.state @w : tensor<4x3x2x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x4x5x5xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4x3x2x2xf32>
    %b = gradus.read @b : tensor<3xf32>
    %0 = gradus.convolution_backward_data %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<8x4x5x5xf32>, tensor<4x3x2x2xf32> -> tensor<8x3x6x6xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<3xf32> -> tensor<8x3x6x6xf32>
    %2 = arith.addf %0, %1 : tensor<8x3x6x6xf32>
    %3 = arith.mulf %2, %2 : tensor<8x3x6x6xf32>
    %loss = gradus.reduce mean %3 axes [0, 1, 2, 3] : tensor<8x3x6x6xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

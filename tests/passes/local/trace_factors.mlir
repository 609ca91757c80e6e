// RUN: gradus-opt %s --autodiff --trace-factors | FileCheck %s
// RUN: gradus-opt %s --autodiff --trace-factors --trace-factors | FileCheck %s
// RUN: gradus-opt %s --autodiff --trace-factors --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=KEPT

// A dense layer, with its weight as outputs by inputs and the other way around.
// Gradients of the mean over 8 samples are multiplied by 8, so their second
// moments by its square.
// CHECK-LABEL: gradus.program @dense
// CHECK:         %[[DH:.*]] = gradus.matmul %[[DY:.*]], %v transposed
// CHECK-DAG:     %[[A:.*]] = gradus.gram %x axis 1 block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
// CHECK-DAG:     %[[G:.*]] = gradus.gram %[[DH]] axis 1 block 2
// CHECK-DAG:     %[[SQUARE:.*]] = arith.constant dense<6.400000e+01> : tensor<1x2x2xf32>
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[G]], %[[SQUARE]]
// CHECK:         gradus.factors @w inputs %[[A]] outputs %[[SCALED]] {axes = array<i64: 1>, kind = "dense"}
// CHECK:         gradus.gram %[[DY]] axis 1 block 4
// CHECK:         gradus.factors @v inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 0>, kind = "dense"} : tensor<1x2x2xf32>, tensor<1x4x4xf32>
gradus.program @dense attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<2x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %v = gradus.read @v : tensor<2x4xf32>
    %h = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
    %y = gradus.matmul %h, %v : tensor<8x2xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
    %0 = arith.mulf %y, %y : tensor<8x4xf32>
    %loss = gradus.reduce mean %0 axes [0, 1] : tensor<8x4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Patches have the convolution's own window, and groups factors of their own.
// What a window of one element sees is no patch.
// CHECK-LABEL: gradus.program @convolutions
// CHECK:         gradus.gram %{{.*}} window [3, 2] strides [2, 1] pads [1, 0] to [0, 1] dilations [1, 1] groups 2 block 12 : tensor<4x4x8x8xf32> -> tensor<2x12x12xf32>
// CHECK:         gradus.gram %{{.*}} axis 1 groups 2 block 3 : tensor<4x6x4x8xf32> -> tensor<2x3x3xf32>
// CHECK:         gradus.factors @w inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 1, 2, 3>, groups = 2 : i64, kind = "convolution", positions = 32 : i64}
// CHECK:         gradus.gram %{{.*}} axis 1 block 6 : tensor<4x6x4x8xf32> -> tensor<1x6x6xf32>
// CHECK:         gradus.factors @p
// CHECK-NOT:     gradus.factors @d
// KEPT:          d keeps its gradient: each group of the convolution has one output
gradus.program @convolutions attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<6x2x3x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @p : tensor<3x6x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d : tensor<3x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4x4x8x8xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<6x2x3x2xf32>
    %p = gradus.read @p : tensor<3x6x1x1xf32>
    %d = gradus.read @d : tensor<3x1x3x3xf32>
    %h = gradus.convolution %x, %w strides [2, 1] pads [1, 0] to [0, 1] dilations [1, 1] groups 2
        : tensor<4x4x8x8xf32>, tensor<6x2x3x2xf32> -> tensor<4x6x4x8xf32>
    %i = gradus.convolution %h, %p strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1]
        : tensor<4x6x4x8xf32>, tensor<3x6x1x1xf32> -> tensor<4x3x4x8xf32>
    %y = gradus.convolution %i, %d strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 3
        : tensor<4x3x4x8xf32>, tensor<3x1x3x3xf32> -> tensor<4x3x4x8xf32>
    %loss = gradus.reduce mean %y axes [0, 1, 2, 3] : tensor<4x3x4x8xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// An embedding: the part of the batch that reads each row, and the second moment
// of what comes back.
// CHECK-LABEL: gradus.program @embedding
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<5x2xf32>
// CHECK:         %[[COUNT:.*]] = gradus.scatter_add %[[ONES]] at %ids axis 0 : tensor<5x2xf32>, tensor<5x2xi64> -> tensor<7xf32>
// CHECK:         %[[SHARE:.*]] = arith.divf %[[COUNT]]
// CHECK:         gradus.gram %{{.*}} axis 2 block 3
// CHECK:         gradus.factors @table inputs %[[SHARE]] outputs %{{.*}} {axes = array<i64: 0>, kind = "embedding"} : tensor<7xf32>, tensor<1x3x3xf32>
gradus.program @embedding attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @table : tensor<7x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%ids: tensor<5x2xi64>) -> (loss: tensor<f32>) {
    %table = gradus.read @table : tensor<7x3xf32>
    %y = gradus.gather %table at %ids axis 0 : tensor<7x3xf32>, tensor<5x2xi64> -> tensor<5x2x3xf32>
    %0 = arith.mulf %y, %y : tensor<5x2x3xf32>
    %loss = gradus.reduce mean %0 axes [0, 1, 2] : tensor<5x2x3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// A table that the model joins with another has the numbers of its own rows; one
// of which a part is read keeps its gradient.
// CHECK-LABEL: gradus.program @joined_tables
// CHECK:         %[[COUNT:.*]] = gradus.scatter_add %{{.*}} at %ids axis 0 : tensor<6xf32>, tensor<6xi64> -> tensor<8xf32>
// CHECK:         %[[FIRST:.*]] = gradus.slice %[[COUNT]] starts [0] steps [1] : tensor<8xf32> -> tensor<5xf32>
// CHECK:         %[[SHARE:.*]] = arith.divf %[[FIRST]]
// CHECK:         gradus.factors @w inputs %[[SHARE]] outputs %{{.*}} {axes = array<i64: 0>, kind = "embedding"} : tensor<5xf32>, tensor<1x4x4xf32>
// CHECK:         %[[LAST:.*]] = gradus.slice %{{.*}} starts [5] steps [1] : tensor<8xf32> -> tensor<3xf32>
// CHECK:         %[[OWN:.*]] = arith.divf %[[LAST]]
// CHECK:         gradus.factors @v inputs %[[OWN]] outputs %{{.*}} {axes = array<i64: 0>, kind = "embedding"} : tensor<3xf32>, tensor<1x4x4xf32>
// CHECK:         gradus.scatter_add %{{.*}} : tensor<6xf32>, tensor<6xi64> -> tensor<4xf32>
// CHECK:         gradus.slice %{{.*}} starts [1] steps [1] : tensor<4xf32> -> tensor<2xf32>
// CHECK:         gradus.factors @padded inputs %{{.*}} {axes = array<i64: 0>, kind = "embedding"} : tensor<2xf32>, tensor<1x4x4xf32>
// CHECK-NOT:     gradus.factors @cut
// KEPT:          w (embedding): its curvature is measured
// KEPT:          cut keeps its gradient: a part of the table is read
gradus.program @joined_tables attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<5x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<3x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @padded : tensor<2x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @cut : tensor<9x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%ids: tensor<6xi64>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<5x4xf32>
    %v = gradus.read @v : tensor<3x4xf32>
    %padded = gradus.read @padded : tensor<2x4xf32>
    %cut = gradus.read @cut : tensor<9x4xf32>
    %table = gradus.concatenate %w, %v axis 0 : tensor<5x4xf32>, tensor<3x4xf32> -> tensor<8x4xf32>
    %bordered = gradus.pad %padded low [1, 0] high [1, 0] interior [0, 0] : tensor<2x4xf32> -> tensor<4x4xf32>
    %part = gradus.slice %cut starts [2, 0] steps [1, 1] : tensor<9x4xf32> -> tensor<4x4xf32>
    %0 = gradus.gather %table at %ids axis 0 : tensor<8x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
    %1 = gradus.gather %bordered at %ids axis 0 : tensor<4x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
    %2 = gradus.gather %part at %ids axis 0 : tensor<4x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
    %3 = arith.mulf %0, %1 : tensor<6x4xf32>
    %y = arith.mulf %2, %3 : tensor<6x4xf32>
    %loss = gradus.reduce mean %y axes [0, 1] : tensor<6x4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Blocks, of which the last one is padded; a side longer than the limit is left
// alone; a weight that is computed with before its use keeps its gradient.
// CHECK-LABEL: gradus.program @sides
// CHECK:         gradus.gram %x axis 1 block 4 : tensor<8x6xf32> -> tensor<2x4x4xf32>
// CHECK:         gradus.factors @w inputs %{{.*}} {axes = array<i64: 0>, kind = "dense"} : tensor<2x4x4xf32>
// CHECK-NOT:     gradus.factors @v
// KEPT:          w has 9 outputs, more than `limit`, so they are left alone
// KEPT:          v keeps its gradient: its gradient is made by arith.mulf
gradus.program @sides attributes {recipe = {precondition = {type = "thor", block = 4 : i64, limit = 8 : i64}}} {
  gradus.state @w : tensor<6x9xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<6x9xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x6xf32>, %s: tensor<6x9xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<6x9xf32>
    %v = gradus.read @v : tensor<6x9xf32>
    %vs = arith.mulf %v, %s : tensor<6x9xf32>
    %a = gradus.matmul %x, %w : tensor<8x6xf32>, tensor<6x9xf32> -> tensor<8x9xf32>
    %b = gradus.matmul %x, %vs : tensor<8x6xf32>, tensor<6x9xf32> -> tensor<8x9xf32>
    %y = arith.mulf %a, %b : tensor<8x9xf32>
    %loss = gradus.reduce mean %y axes [0, 1] : tensor<8x9xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Uses of one weight are rows of one layer: two thirds of them are of one.
// CHECK-LABEL: gradus.program @uses
// CHECK:         %[[LONG:.*]] = gradus.gram %{{.*}} axis 1 block 3 : tensor<16x3xf32>
// CHECK:         %[[TWO:.*]] = arith.constant dense<0.666666686> : tensor<1x3x3xf32>
// CHECK:         %[[A:.*]] = arith.mulf %[[LONG]], %[[TWO]]
// CHECK:         %[[SHORT:.*]] = gradus.gram %x axis 1 block 3 : tensor<8x3xf32>
// CHECK:         %[[ONE:.*]] = arith.constant dense<0.333333343> : tensor<1x3x3xf32>
// CHECK:         %[[B:.*]] = arith.mulf %[[SHORT]], %[[ONE]]
// CHECK:         %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : tensor<1x3x3xf32>
// CHECK:         gradus.factors @w inputs %[[SUM]] outputs %{{.*}} {axes = array<i64: 1>, kind = "dense"}
// KEPT:          w (dense, of 2 uses): its curvature is measured
gradus.program @uses attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>, %z: tensor<8x2x3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %rows = gradus.reshape %z : tensor<8x2x3xf32> -> tensor<16x3xf32>
    %a = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
    %b = gradus.matmul %rows, %w transposed : tensor<16x3xf32>, tensor<2x3xf32> -> tensor<16x2xf32>
    %0 = arith.mulf %a, %a : tensor<8x2xf32>
    %1 = arith.mulf %b, %b : tensor<16x2xf32>
    %2 = gradus.reduce mean %0 axes [0, 1] : tensor<8x2xf32> -> tensor<f32>
    %3 = gradus.reduce mean %1 axes [0, 1] : tensor<16x2xf32> -> tensor<f32>
    %loss = arith.addf %2, %3 : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Parts of a weight that see the same inputs are one layer; others are layers of
// their own.
// CHECK-LABEL: gradus.program @parts
// CHECK:         gradus.gram %x axis 1 block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
// CHECK:         %[[D:.*]] = gradus.concatenate %{{.*}}, %{{.*}} axis 1 : tensor<8x2xf32>, tensor<8x2xf32> -> tensor<8x4xf32>
// CHECK:         gradus.gram %[[D]] axis 1 block 4
// CHECK:         gradus.factors @w inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 1>, kind = "dense"}
// CHECK:         %[[X:.*]] = gradus.gram %x axis 1 block 3
// CHECK:         %[[Z:.*]] = gradus.gram %z axis 1 block 3
// CHECK:         %[[A:.*]] = gradus.concatenate %[[X]], %[[Z]] axis 0 : tensor<1x3x3xf32>, tensor<1x3x3xf32> -> tensor<2x3x3xf32>
// CHECK:         gradus.factors @v inputs %[[A]] outputs %{{.*}} {axes = array<i64: 1>, groups = 2 : i64, kind = "dense"} : tensor<2x3x3xf32>, tensor<2x2x2xf32>
// CHECK:         gradus.factors @u inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 1>, gradus.grouped_inputs, groups = 2 : i64, kind = "dense"} : tensor<2x3x3xf32>, tensor<2x2x2xf32>
// KEPT:          w (dense): its curvature is measured
// KEPT:          v (dense, in 2 parts): its curvature is measured
// KEPT:          u (dense, in 2 parts): its curvature is measured
gradus.program @parts attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<4x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @u : tensor<2x6xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>, %z: tensor<8x3xf32>, %s: tensor<8x2xf32>) -> () {
    %dy = math.sin %s : tensor<8x2xf32>
    %dz = math.cos %s : tensor<8x2xf32>
    %xy = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %xz = gradus.matmul %dz transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %zz = gradus.matmul %dz transposed, %z : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %dw = gradus.concatenate %xy, %xz axis 0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
    %dv = gradus.concatenate %xy, %zz axis 0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
    %du = gradus.concatenate %xy, %zz axis 1 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x6xf32>
    gradus.update @w, %dw : tensor<4x3xf32>
    gradus.update @v, %dv : tensor<4x3xf32>
    gradus.update @u, %du : tensor<2x6xf32>
    gradus.return
  }
}

// A transposed convolution has patches of its outputs' gradient, a row for each
// position of its input, and groups that are parts of its inputs.
// CHECK-LABEL: gradus.program @transposed
// CHECK:         gradus.gram %x axis 1 groups 2 block 3 : tensor<4x6x4x4xf32> -> tensor<2x3x3xf32>
// CHECK:         gradus.gram %{{.*}} window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] groups 2 block 8 : tensor<4x4x8x8xf32> -> tensor<2x8x8xf32>
// CHECK:         gradus.factors @w inputs %{{.*}} outputs %{{.*}} {axes = array<i64: 0>, gradus.grouped_inputs, groups = 2 : i64, kind = "convolution", positions = 16 : i64}
gradus.program @transposed attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<6x2x2x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4x6x4x4xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<6x2x2x2xf32>
    %y = gradus.convolution_backward_data %x, %w strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] groups 2
        : tensor<4x6x4x4xf32>, tensor<6x2x2x2xf32> -> tensor<4x4x8x8xf32>
    %0 = arith.mulf %y, %y : tensor<4x4x8x8xf32>
    %loss = gradus.reduce mean %0 axes [0, 1, 2, 3] : tensor<4x4x8x8xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// MindSpore's ThorGpu: of a dense layer the sum is divided by its inputs, of a
// convolution the mean sample is measured.
// CHECK-LABEL: gradus.program @mindspore
// CHECK:         %[[H:.*]] = gradus.reshape %{{.*}} : tensor<8x4x1x1xf32> -> tensor<8x4xf32>
// CHECK:         %[[A:.*]] = gradus.gram %[[H]] axis 1 block 4
// CHECK:         %[[TWICE:.*]] = arith.constant dense<2.000000e+00> : tensor<1x4x4xf32>
// CHECK:         %[[SUM:.*]] = arith.mulf %[[A]], %[[TWICE]]
// CHECK:         gradus.factors @w inputs %[[SUM]]
// CHECK:         %[[MEAN:.*]] = gradus.reduce mean %x axes [0] : tensor<8x1x4x4xf32> -> tensor<1x4x4xf32>
// CHECK:         %[[ONE:.*]] = gradus.reshape %[[MEAN]] : tensor<1x4x4xf32> -> tensor<1x1x4x4xf32>
// CHECK:         gradus.gram %[[ONE]] window [4, 4]
gradus.program @mindspore attributes {recipe = {compat = "mindspore", precondition = {type = "thor"}}} {
  gradus.state @w : tensor<4x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c : tensor<4x1x4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x1x4x4xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<4x2xf32>
    %c = gradus.read @c : tensor<4x1x4x4xf32>
    %0 = gradus.convolution %x, %c strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1]
        : tensor<8x1x4x4xf32>, tensor<4x1x4x4xf32> -> tensor<8x4x1x1xf32>
    %h = gradus.reshape %0 : tensor<8x4x1x1xf32> -> tensor<8x4xf32>
    %y = gradus.matmul %h, %w : tensor<8x4xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
    %loss = gradus.reduce mean %y axes [0, 1] : tensor<8x2xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Nothing is asked for.
// CHECK-LABEL: gradus.program @silent
// CHECK-NOT:     gradus.gram
// CHECK:         gradus.return
gradus.program @silent attributes {recipe = {}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %y = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
    %loss = gradus.reduce mean %y axes [0, 1] : tensor<8x2xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

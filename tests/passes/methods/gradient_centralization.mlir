// RUN: gradus-opt %s --gradient-centralization | FileCheck %s
// RUN: gradus-opt %s --gradient-centralization --gradient-centralization | FileCheck %s
// RUN: gradus-opt %s --gradient-centralization=at=after_weight_decay | FileCheck %s --check-prefix=AFTER
// RUN: gradus-opt %s --gradient-centralization --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS

// A dense weight [out, in]: a mean for each row. The bias keeps its gradient.
// CHECK-LABEL: gradus.program @rows
// CHECK:         %[[M:.*]] = gradus.reduce mean %g axes [1] : tensor<8x4xf32> -> tensor<8xf32>
// CHECK:         %[[B:.*]] = gradus.broadcast %[[M]] dims [0] : tensor<8xf32> -> tensor<8x4xf32>
// CHECK:         %[[C:.*]] = arith.subf %g, %[[B]]
// CHECK-NOT:     arith.subf
// CHECK:         gradus.update @w, %[[C]] {gradus.centered}
// CHECK:         gradus.update @b, %h : tensor<8xf32>
// AFTER-LABEL: gradus.program @rows
// AFTER-NOT:     gradus.reduce
// AFTER-LABEL: gradus.program @columns
// REMARKS: remark: {{.*}}Remark="w (dense): its gradient has zero mean for each output
gradus.program @rows attributes {recipe = {gradient_centralization = {}}} {
  gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @w : tensor<8x4xf32>
    %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    gradus.return %y : tensor<2x8xf32>
  }
  gradus.graph @train(%g: tensor<8x4xf32>, %h: tensor<8xf32>) -> () {
    gradus.update @w, %g : tensor<8x4xf32>
    gradus.update @b, %h : tensor<8xf32>
    gradus.return
  }
}

// A dense weight [in, out]: a mean for each column, here after decay. So it is
// behind a cast and a transpose.
// CHECK-LABEL: gradus.program @columns
// CHECK:         gradus.reduce mean %g axes [0] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK:         gradus.reduce mean %h axes [0] : tensor<4x8xf32> -> tensor<8xf32>
// AFTER:         gradus.reduce mean %g axes [0]
gradus.program @columns attributes {recipe = {gradient_centralization = {placement = "after_weight_decay"}}} {
  gradus.state @w : tensor<4x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>, z: tensor<2x8xbf16>) {
    %w = gradus.read @w : tensor<4x8xf32>
    %y = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    %v = gradus.read @v : tensor<4x8xf32>
    %0 = arith.truncf %v : tensor<4x8xf32> to tensor<4x8xbf16>
    %1 = gradus.transpose %0 perm [1, 0] : tensor<4x8xbf16> -> tensor<8x4xbf16>
    %2 = arith.truncf %x : tensor<2x4xf32> to tensor<2x4xbf16>
    %z = gradus.matmul %2, %1 transposed : tensor<2x4xbf16>, tensor<8x4xbf16> -> tensor<2x8xbf16>
    gradus.return %y, %z : tensor<2x8xf32>, tensor<2x8xbf16>
  }
  gradus.graph @train(%g: tensor<4x8xf32>, %h: tensor<4x8xf32>) -> () {
    gradus.update @w, %g : tensor<4x8xf32>
    gradus.update @v, %h : tensor<4x8xf32>
    gradus.return
  }
}

// Convolutions have a mean for each output channel; a transposed one in groups
// for each channel of each group; a depthwise one of 1x1 has one weight each.
// CHECK-LABEL: gradus.program @kernels
// CHECK:         gradus.reduce mean %f axes [1, 2, 3] : tensor<6x2x3x3xf32> -> tensor<6xf32>
// CHECK:         gradus.update @forward, %{{[0-9]+}}
// CHECK:         %[[G:.*]] = gradus.reshape %g : tensor<4x3x2x2xf32> -> tensor<2x2x3x2x2xf32>
// CHECK:         gradus.reduce mean %[[G]] axes [1, 3, 4] : tensor<2x2x3x2x2xf32> -> tensor<2x3xf32>
// CHECK:         gradus.update @back, %{{[0-9]+}}
// CHECK:         gradus.update @single, %h
// REMARKS: remark: {{.*}}Remark="single keeps its gradient: each output has one weight, whose mean it is
gradus.program @kernels attributes {recipe = {gradient_centralization = {}}} {
  gradus.state @forward : tensor<6x2x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @back : tensor<4x3x2x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @single : tensor<4x1x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4x5x5xf32>) -> (y: tensor<2x6x3x3xf32>, z: tensor<2x6x10x10xf32>, u: tensor<2x4x5x5xf32>) {
    %f = gradus.read @forward : tensor<6x2x3x3xf32>
    %y = gradus.convolution %x, %f strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 2 : tensor<2x4x5x5xf32>, tensor<6x2x3x3xf32> -> tensor<2x6x3x3xf32>
    %b = gradus.read @back : tensor<4x3x2x2xf32>
    %z = gradus.convolution_backward_data %x, %b strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] groups 2 : tensor<2x4x5x5xf32>, tensor<4x3x2x2xf32> -> tensor<2x6x10x10xf32>
    %s = gradus.read @single : tensor<4x1x1x1xf32>
    %u = gradus.convolution %x, %s strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 4 : tensor<2x4x5x5xf32>, tensor<4x1x1x1xf32> -> tensor<2x4x5x5xf32>
    gradus.return %y, %z, %u : tensor<2x6x3x3xf32>, tensor<2x6x10x10xf32>, tensor<2x4x5x5xf32>
  }
  gradus.graph @train(%f: tensor<6x2x3x3xf32>, %g: tensor<4x3x2x2xf32>, %h: tensor<4x1x1x1xf32>) -> () {
    gradus.update @forward, %f : tensor<6x2x3x3xf32>
    gradus.update @back, %g : tensor<4x3x2x2xf32>
    gradus.update @single, %h : tensor<4x1x1x1xf32>
    gradus.return
  }
}

// Embeddings by option alone.
// CHECK-LABEL: gradus.program @tables
// CHECK:         gradus.update @t, %g : tensor<9x4xf32>
// REMARKS: remark: {{.*}}Remark="t keeps its gradient: `kinds` does not name what it is
// CHECK-LABEL: gradus.program @centered_tables
// CHECK:         gradus.reduce mean %g axes [1]
gradus.program @tables attributes {recipe = {gradient_centralization = {kinds = ["dense"]}}} {
  gradus.state @t : tensor<9x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2xi64>) -> (y: tensor<2x4xf32>) {
    %t = gradus.read @t : tensor<9x4xf32>
    %y = gradus.gather %t at %x axis 0 : tensor<9x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
  gradus.graph @train(%g: tensor<9x4xf32>) -> () {
    gradus.update @t, %g : tensor<9x4xf32>
    gradus.return
  }
}
gradus.program @centered_tables attributes {recipe = {gradient_centralization = {kinds = ["embedding"]}}} {
  gradus.state @t : tensor<9x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2xi64>) -> (y: tensor<2x4xf32>) {
    %t = gradus.read @t : tensor<9x4xf32>
    %y = gradus.gather %t at %x axis 0 : tensor<9x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
  gradus.graph @train(%g: tensor<9x4xf32>) -> () {
    gradus.update @t, %g : tensor<9x4xf32>
    gradus.return
  }
}

// As MindSpore has it: after decay, and multiples of 16 alone.
// CHECK-LABEL: gradus.program @mindspore
// CHECK:         gradus.update @w, %g : tensor<8x4xf32>
// REMARKS: remark: {{.*}}Remark="w keeps its gradient: its second axis is no multiple of 16 (`second_axis_multiple`)
gradus.program @mindspore attributes {recipe = {compat = "mindspore", gradient_centralization = {}}} {
  gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @w : tensor<8x4xf32>
    %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    gradus.return %y : tensor<2x8xf32>
  }
  gradus.graph @train(%g: tensor<8x4xf32>) -> () {
    gradus.update @w, %g : tensor<8x4xf32>
    gradus.return
  }
}

// The same by keys of their own.
// CHECK-LABEL: gradus.program @multiple
// CHECK:         gradus.update @w, %g : tensor<8x4xf32>
// REMARKS: remark: {{.*}}Remark="w keeps its gradient: its second axis is no multiple of 16 (`second_axis_multiple`)
gradus.program @multiple attributes {recipe = {gradient_centralization = {second_axis_multiple = 16 : i64, placement = "after_weight_decay"}}} {
  gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @w : tensor<8x4xf32>
    %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    gradus.return %y : tensor<2x8xf32>
  }
  gradus.graph @train(%g: tensor<8x4xf32>) -> () {
    gradus.update @w, %g : tensor<8x4xf32>
    gradus.return
  }
}

// Convolutions in groups whose weight is stored the other way round: a mean for
// each filter, of all its axes; of a transposed one in groups, whose axis of
// groups lies third then, for each channel of each group; and a transposed one
// of 1x1 by channels has one weight for each output.
// CHECK-LABEL: gradus.program @turned
// CHECK:         gradus.reduce mean %f axes [0, 1, 2] : tensor<4x3x2x8xf32> -> tensor<8xf32>
// CHECK:         %[[G:.*]] = gradus.reshape %g : tensor<2x2x4x3xf32> -> tensor<2x2x2x2x3xf32>
// CHECK:         gradus.reduce mean %[[G]] axes [0, 1, 3] : tensor<2x2x2x2x3xf32> -> tensor<2x3xf32>
// CHECK:         gradus.update @single, %h : tensor<4x1x1x1xf32>
gradus.program @turned attributes {recipe = {gradient_centralization = {}}} {
  gradus.state @forward : tensor<4x3x2x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @back : tensor<2x2x4x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @single : tensor<4x1x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x8x6x6xf32>, %u: tensor<2x4x5x5xf32>) -> (y: tensor<2x8x3x4xf32>, z: tensor<2x6x10x10xf32>, v: tensor<2x4x5x5xf32>) {
    %f = gradus.read @forward : tensor<4x3x2x8xf32>
    %0 = gradus.transpose %f perm [3, 2, 0, 1] : tensor<4x3x2x8xf32> -> tensor<8x2x4x3xf32>
    %y = gradus.convolution %x, %0 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 4 : tensor<2x8x6x6xf32>, tensor<8x2x4x3xf32> -> tensor<2x8x3x4xf32>
    %b = gradus.read @back : tensor<2x2x4x3xf32>
    %1 = gradus.transpose %b perm [2, 3, 0, 1] : tensor<2x2x4x3xf32> -> tensor<4x3x2x2xf32>
    %z = gradus.convolution_backward_data %u, %1 strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] groups 2 : tensor<2x4x5x5xf32>, tensor<4x3x2x2xf32> -> tensor<2x6x10x10xf32>
    %s = gradus.read @single : tensor<4x1x1x1xf32>
    %v = gradus.convolution_backward_data %u, %s strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 4 : tensor<2x4x5x5xf32>, tensor<4x1x1x1xf32> -> tensor<2x4x5x5xf32>
    gradus.return %y, %z, %v : tensor<2x8x3x4xf32>, tensor<2x6x10x10xf32>, tensor<2x4x5x5xf32>
  }
  gradus.graph @train(%f: tensor<4x3x2x8xf32>, %g: tensor<2x2x4x3xf32>, %h: tensor<4x1x1x1xf32>) -> () {
    gradus.update @forward, %f : tensor<4x3x2x8xf32>
    gradus.update @back, %g : tensor<2x2x4x3xf32>
    gradus.update @single, %h : tensor<4x1x1x1xf32>
    gradus.return
  }
}

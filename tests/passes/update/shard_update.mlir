// RUN: gradus-opt %s --split-input-file --shard-update | FileCheck %s
// RUN: gradus-opt %s --split-input-file --shard-update --shard-update | FileCheck %s
// RUN: gradus-opt %s --split-input-file --shard-update --remark-format=emitRemark --remarks-filter="shard-update" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: {{.*}}@train: each of 2 ranks updates a part of 1 parameters, and has parts of 1 slots
// REMARK: remark: {{.*}}small stays whole: it is small
// REMARK: remark: {{.*}}@train: each of 4 ranks updates a part of 1 parameters, and has parts of 0 slots
// REMARK: remark: {{.*}}@train: each of 2 ranks updates a part of 0 parameters, and has parts of 0 slots
// REMARK: remark: {{.*}}w stays whole: gradus.matmul, to which its gradient goes, is not computed in parts
// REMARK: remark: {{.*}}@train: each of 2 ranks updates a part of 1 parameters, and has parts of 0 slots
// REMARK: remark: {{.*}}@train: each of 2 ranks updates a part of 1 parameters, and has parts of 0 slots
// REMARK-NOT: remark:

// A slot is a part of the whole that an attribute tells. A tensor of at most 64
// bytes has no smaller part. What is fixed may be a part before.
// CHECK-LABEL: @momentum
// CHECK: gradus.state @w : tensor<4x16xf32> {init
// CHECK: gradus.state @"sgd/momentum/w" : tensor<32xf32> {differs_along = ["data"], {{.*}}part_of = tensor<4x16xf32>
// CHECK: gradus.state @"sgd/momentum/small" : tensor<16xf32> {init
// CHECK: gradus.state @rows : tensor<2x1xf32> {{.*}}part_of = tensor<3x1xf32>
gradus.program @momentum attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64, zero = 1 : i64}}} {
  gradus.state @w : tensor<4x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"sgd/momentum/w" : tensor<4x16xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @small : tensor<16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"sgd/momentum/small" : tensor<16xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @rows : tensor<2x1xf32> {differs_along = ["data"], fixed, part_of = tensor<3x1xf32>, role = #gradus.role<slot>, value = dense<0.5> : tensor<3x1xf32>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<4x16xf32>, %h: tensor<16xf32>) -> () {
    // CHECK: %[[SUM:.*]] = gradus.all_reduce %g {of = ["w"], parts = #gradus.parts<scatter ranks 2 unit 16>}
    // CHECK: %[[G:.*]] = gradus.part %[[SUM]] ranks 2 : tensor<4x16xf32> -> tensor<32xf32>
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4x16xf32> -> tensor<4x16xf32>
    // CHECK: %[[M:.*]] = gradus.read @"sgd/momentum/w" : tensor<32xf32>
    %momentum = gradus.read @"sgd/momentum/w" : tensor<4x16xf32>
    // CHECK: %[[NEXT:.*]] = arith.addf %[[M]], %[[G]] : tensor<32xf32>
    %next = arith.addf %momentum, %sum : tensor<4x16xf32>
    // CHECK: gradus.write @"sgd/momentum/w", %[[NEXT]] : tensor<32xf32>
    gradus.write @"sgd/momentum/w", %next : tensor<4x16xf32>
    // CHECK: %[[W:.*]] = gradus.read @w : tensor<4x16xf32>
    // CHECK: %[[OWN:.*]] = gradus.part %[[W]] ranks 2
    %w = gradus.read @w : tensor<4x16xf32>
    // CHECK: %[[MOVED:.*]] = arith.subf %[[OWN]], %[[NEXT]] : tensor<32xf32>
    // CHECK: %[[ALONE:.*]] = gradus.whole %[[MOVED]] ranks 2 : tensor<32xf32> -> tensor<4x16xf32>
    // CHECK: %[[NEW:.*]] = gradus.all_reduce %[[ALONE]] {of = ["w"], parts = #gradus.parts<gather ranks 2 unit 16>}
    %moved = arith.subf %w, %next : tensor<4x16xf32>
    gradus.write @w, %moved : tensor<4x16xf32>
    // CHECK: %[[H:.*]] = gradus.all_reduce %h {of = ["small"]} : tensor<16xf32>
    %all = gradus.all_reduce %h {of = ["small"]} : tensor<16xf32> -> tensor<16xf32>
    %before = gradus.read @"sgd/momentum/small" : tensor<16xf32>
    %after = arith.addf %before, %all : tensor<16xf32>
    gradus.write @"sgd/momentum/small", %after : tensor<16xf32>
    gradus.write @small, %after : tensor<16xf32>
    // What all ranks get may travel together: it is written at the end.
    // CHECK: gradus.write @small
    // CHECK-NEXT: gradus.write @w, %[[NEW]] : tensor<4x16xf32>
    gradus.return
  }
}

// -----

// The last parts end behind the tensor: there a gradient and what is summed are
// 0. A norm is the sum over ranks of those of parts.
// CHECK-LABEL: @norm
gradus.program @norm attributes {recipe = {distribution = {mode = "data_parallel", ranks = 4 : i64, zero = 1 : i64}}} {
  gradus.state @w : tensor<100xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<100xf32>) -> () {
    // CHECK: %[[SUM:.*]] = gradus.all_reduce %g {{.*}}scatter ranks 4 unit 16
    // CHECK: %[[PART:.*]] = gradus.part %[[SUM]] ranks 4 : tensor<100xf32> -> tensor<32xf32>
    // CHECK: gradus.read @distribution.rank
    // CHECK: arith.constant dense<100> : tensor<32xi64>
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt
    // CHECK: %[[G:.*]] = arith.select %[[INSIDE]], %[[PART]]
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<100xf32> -> tensor<100xf32>
    // CHECK: %[[SQUARE:.*]] = arith.mulf %[[G]], %[[G]] : tensor<32xf32>
    %square = arith.mulf %sum, %sum : tensor<100xf32>
    // CHECK: %[[KNOWN:.*]] = arith.select %{{.*}}, %[[SQUARE]]
    // CHECK: %[[OWN:.*]] = gradus.reduce sum %[[KNOWN]] axes [0] : tensor<32xf32> -> tensor<f32>
    // CHECK: %[[ALL:.*]] = gradus.all_reduce %[[OWN]] : tensor<f32> -> tensor<f32>
    %norm = gradus.reduce sum %square axes [0] : tensor<100xf32> -> tensor<f32>
    // CHECK: %[[EACH:.*]] = gradus.broadcast %[[ALL]] dims [] : tensor<f32> -> tensor<32xf32>
    %each = gradus.broadcast %norm dims [] : tensor<f32> -> tensor<100xf32>
    // CHECK: arith.divf %[[G]], %[[EACH]] : tensor<32xf32>
    %moved = arith.divf %sum, %each : tensor<100xf32>
    gradus.write @w, %moved : tensor<100xf32>
    gradus.return
  }
}

// -----

// What multiplies a gradient as a matrix needs all of it.
// CHECK-LABEL: @matrix
// CHECK-NOT: gradus.part
gradus.program @matrix attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64, zero = 1 : i64}}} {
  gradus.state @w : tensor<16x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @slot : tensor<16x16xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<16x16xf32>) -> () {
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<16x16xf32> -> tensor<16x16xf32>
    %slot = gradus.read @slot : tensor<16x16xf32>
    %next = arith.addf %slot, %sum : tensor<16x16xf32>
    gradus.write @slot, %next : tensor<16x16xf32>
    %product = gradus.matmul %next, %next : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    gradus.write @w, %product : tensor<16x16xf32>
    gradus.return
  }
}

// -----

// An average that an evaluation reads follows from the gathered parameter.
// CHECK-LABEL: @average
// CHECK: gradus.state @average : tensor<32xf32> {init
gradus.program @average attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64, zero = 1 : i64}}} {
  gradus.state @w : tensor<32xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @average : tensor<32xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @evaluate() -> (w: tensor<32xf32>) {
    %average = gradus.read @average : tensor<32xf32>
    gradus.return %average : tensor<32xf32>
  }
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<32xf32>) -> () {
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<32xf32> -> tensor<32xf32>
    %w = gradus.read @w : tensor<32xf32>
    %moved = arith.subf %w, %sum : tensor<32xf32>
    // CHECK: %[[NEW:.*]] = gradus.all_reduce {{.*}}gather
    gradus.write @w, %moved : tensor<32xf32>
    // CHECK: %[[OLD:.*]] = gradus.read @average : tensor<32xf32>
    // CHECK: %[[NEXT:.*]] = arith.addf %[[OLD]], %[[NEW]] : tensor<32xf32>
    // CHECK: gradus.write @average, %[[NEXT]]
    // CHECK: gradus.write @w, %[[NEW]]
    %old = gradus.read @average : tensor<32xf32>
    %next = arith.addf %old, %moved : tensor<32xf32>
    gradus.write @average, %next : tensor<32xf32>
    gradus.return
  }
}

// -----

// 64 bytes of 16-bit sums are 32 elements.
// CHECK-LABEL: @narrow
gradus.program @narrow attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64, zero = 1 : i64, reduce = "bf16"}}} {
  gradus.state @w : tensor<80xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<80xbf16>) -> () {
    // CHECK: gradus.part {{.*}} ranks 2 : tensor<80xbf16> -> tensor<64xbf16>
    // CHECK: gradus.whole {{.*}} ranks 2 : tensor<64xf32> -> tensor<80xf32>
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<80xbf16> -> tensor<80xbf16>
    %wide = arith.extf %sum : tensor<80xbf16> to tensor<80xf32>
    gradus.write @w, %wide : tensor<80xf32>
    gradus.return
  }
}

// RUN: gradus-opt %s --half-reduce --split-input-file | FileCheck %s
// RUN: gradus-opt %s --half-reduce --half-reduce --split-input-file | FileCheck %s
// RUN: gradus-opt %s --half-reduce --split-input-file --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS

// REMARKS: remark: {{.*}}@train: 1 gradients travel in f16
// REMARKS: remark: {{.*}}@train: 1 gradients travel in bf16

// Each rank's part of the mean is scaled by the loss scale and rounded. The guard
// holds only if the sum is finite, too, and what counts skipped steps follows it.
// The flag itself stays as it is.
// CHECK-LABEL: @scaled
gradus.program @scaled attributes {recipe = {loss_scale = {type = "static", initial = 8.0 : f64}, distribution = {mode = "data_parallel", reduce = "half"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @skipped : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %veto: tensor<f32>) -> () {
    // CHECK: %[[RANKS:.*]] = gradus.read @distribution.ranks
    // CHECK: %[[COUNT:.*]] = arith.sitofp %[[RANKS]]
    // CHECK: %[[SCALE:.*]] = arith.constant dense<8.0
    // CHECK: %[[DOWN:.*]] = arith.divf %[[SCALE]], %[[COUNT]]
    // CHECK: %[[UP:.*]] = arith.divf %[[COUNT]], %[[SCALE]]
    // CHECK: %[[VETOES:.*]] = gradus.all_reduce %veto : tensor<f32> -> tensor<f32>
    // CHECK: %[[OWN:.*]] = arith.cmpf oeq, %[[VETOES]]
    %zero = arith.constant dense<0.0> : tensor<f32>
    %one = arith.constant dense<1> : tensor<i64>
    %vetoes = gradus.all_reduce %veto : tensor<f32> -> tensor<f32>
    %finite = arith.cmpf oeq, %vetoes, %zero : tensor<f32>
    %skipped = gradus.read @skipped : tensor<i64>
    %more = arith.addi %skipped, %one : tensor<i64>
    // CHECK: %[[DOWNS:.*]] = gradus.broadcast %[[DOWN]]
    // CHECK: %[[PART:.*]] = arith.mulf %g, %[[DOWNS]]
    // CHECK: %[[HALF:.*]] = arith.truncf %[[PART]] : tensor<4xf32> to tensor<4xf16>
    // CHECK: %[[SUM:.*]] = gradus.all_reduce %[[HALF]] {of = ["w"]} : tensor<4xf16> -> tensor<4xf16>
    // CHECK: %[[WIDE:.*]] = arith.extf %[[SUM]]
    // CHECK: %[[UPS:.*]] = gradus.broadcast %[[UP]]
    // CHECK: %[[MEAN:.*]] = arith.mulf %[[WIDE]], %[[UPS]]
    // CHECK: gradus.update @w, %[[MEAN]]
    // CHECK: %[[ZEROS:.*]] = arith.mulf %[[WIDE]]
    // CHECK: %[[TOTAL:.*]] = gradus.reduce sum %[[ZEROS]]
    // CHECK: %[[FINITE:.*]] = arith.cmpf oeq, %[[TOTAL]]
    // CHECK: %[[BOTH:.*]] = arith.andi %[[OWN]], %[[FINITE]]
    // CHECK: gradus.guard %[[BOTH]] always [@skipped]
    // CHECK: arith.select %[[BOTH]]
    %count = arith.select %finite, %skipped, %more : tensor<i1>, tensor<i64>
    gradus.write @skipped, %count : tensor<i64>
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
    gradus.update @w, %sum : tensor<4xf32>
    gradus.guard %finite always [@skipped]
    gradus.return
  }
}

// -----

// A scale of its own; what is no gradient stays as it is.
// CHECK-LABEL: @own
gradus.program @own attributes {recipe = {loss_scale = {type = "static", initial = 8.0 : f64}, distribution = {mode = "data_parallel", reduce = "bf16", half_scale = 4.0 : f64}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %loss: tensor<f32>) -> (loss: tensor<f32>) {
    // CHECK: gradus.read @distribution.half_scale : tensor<f64>
    // CHECK: gradus.all_reduce %{{.*}} {of = ["w"]} : tensor<4xbf16> -> tensor<4xbf16>
    // CHECK: gradus.all_reduce %loss : tensor<f32> -> tensor<f32>
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
    gradus.update @w, %sum : tensor<4xf32>
    %losses = gradus.all_reduce %loss : tensor<f32> -> tensor<f32>
    gradus.return %losses : tensor<f32>
  }
}

// -----

// CHECK-LABEL: @plain
// CHECK: gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
gradus.program @plain attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.graph @train(%g: tensor<4xf32>) -> (sum: tensor<4xf32>) {
    %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
    gradus.return %sum : tensor<4xf32>
  }
}

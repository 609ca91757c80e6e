// RUN: gradus-opt %s --split-input-file --sparse-reduce --canonicalize --cse | FileCheck %s
// RUN: gradus-opt %s --split-input-file --sparse-reduce --sparse-reduce --check-ranks --canonicalize --cse | FileCheck %s
// RUN: gradus-opt %s --split-input-file --sparse-reduce --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: {{.*}}@train: each rank sends 256 bytes of 2 gradients of 100 elements to each of 1 others; a whole sum in f32 sends 400 in all

// Two gradients travel together. What is not sent waits, and is each rank's own.
// CHECK-LABEL: @together
// CHECK-DAG: gradus.state @"kept/residual/w" : tensor<8x8xf32> {differs_along = ["data"]
// CHECK-DAG: gradus.state @"kept/residual/b" : tensor<36xf32> {differs_along = ["data"]
gradus.program @together attributes {recipe = {distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64}}} {
  gradus.state @w : tensor<8x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<36xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<8x8xf32>, %h: tensor<36xf32>) -> () {
    // CHECK-DAG: %[[R:.*]] = gradus.read @"kept/residual/w" : tensor<8x8xf32>
    // CHECK-DAG: %[[E:.*]] = arith.addf %[[R]], %g : tensor<8x8xf32>
    // CHECK-DAG: %[[FLAT:.*]] = gradus.reshape %[[E]] : tensor<8x8xf32> -> tensor<64xf32>
    // CHECK-DAG: %{{.*}}, %{{.*}} = gradus.select_largest %[[FLAT]] : tensor<64xf32> -> tensor<16xi32>, tensor<16xf32>
    // CHECK-DAG: gradus.write @"kept/residual/w", %{{.*}} : tensor<8x8xf32>
    // CHECK-DAG: gradus.write @"kept/residual/b", %{{.*}} : tensor<36xf32>
    // CHECK-DAG: %[[VALUES:.*]] = gradus.all_reduce %{{.*}} {groups = #gradus.groups<within 1 sum across gather epsilon 0.000000e+00 : f64>} : tensor<2x32xf32> -> tensor<2x32xf32>
    // CHECK-DAG: %[[OFW:.*]] = gradus.slice %[[VALUES]] starts [0, 0] steps [1, 1] : tensor<2x32xf32> -> tensor<2x16xf32>
    // CHECK-DAG: %[[OFB:.*]] = gradus.slice %[[VALUES]] starts [0, 16] steps [1, 1] : tensor<2x32xf32> -> tensor<2x9xf32>
    // CHECK-DAG: gradus.update @w, %{{.*}} : tensor<8x8xf32>
    gradus.update @w, %g : tensor<8x8xf32>
    // CHECK-DAG: gradus.update @b, %{{.*}} : tensor<36xf32>
    gradus.update @b, %h : tensor<36xf32>
    gradus.return
  }
}

// -----

// A part such as 0.07 of 100 elements is 7, although their product in f64 is
// more. A threshold may be set while training. Nothing waits without feedback.
// CHECK-LABEL: @threshold
// CHECK-NOT: kept/
gradus.program @threshold attributes {recipe = {distribution = {mode = "data_parallel", reduce = "sparse_threshold", threshold = 0.5, capacity = 0.07, ranks = 2 : i64, error_feedback = false, mean = false}}} {
  gradus.state @w : tensor<100xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<100xf32>) -> () {
    // CHECK-DAG: %[[T:.*]] = gradus.read @distribution.threshold : tensor<f64>
    // CHECK-DAG: %[[N:.*]] = arith.truncf %[[T]] : tensor<f64> to tensor<f32>
    // CHECK-DAG: gradus.select_largest %g from %[[N]] : tensor<100xf32> from tensor<f32> -> tensor<7xi32>, tensor<7xf32>
    // CHECK-DAG: %[[SUM:.*]] = gradus.scatter_add
    // CHECK-DAG: gradus.update @w, %[[SUM]] : tensor<100xf32>
    gradus.update @w, %g : tensor<100xf32>
    gradus.return
  }
}

// -----

// Momentum is added up before elements are selected, and starts anew where one
// is sent; sgd adds none. The first updates are whole sums.
// CHECK-LABEL: @corrected
// CHECK-DAG: gradus.state @"kept/momentum/w" : tensor<64xf32> {differs_along = ["data"]
gradus.program @corrected attributes {recipe = {optimizer = {type = "sgd", momentum = 0.9}, distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, momentum_correction = true, warmup = 3 : i64}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train(
  gradus.graph @train(%g: tensor<64xf32>) -> () {
    // CHECK-DAG: gradus.select_largest
    // CHECK-DAG: gradus.write @"kept/momentum/w"
    // CHECK-DAG: gradus.write @"kept/residual/w"
    // CHECK-DAG: gradus.update @w, %{{.*}} {gradus.has_momentum} : tensor<64xf32>
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
  // CHECK: gradus.graph @train_dense(
  // CHECK-NOT: gradus.select_largest
  // CHECK-DAG: %[[KEPT:.*]] = arith.addf %{{.*}}, %g : tensor<64xf32>
  // CHECK-DAG: gradus.write @"kept/momentum/w", %[[KEPT]]
  // CHECK-DAG: gradus.all_reduce %[[KEPT]] {of = ["w"]} : tensor<64xf32> -> tensor<64xf32>
  // CHECK-DAG: gradus.update @w, %{{.*}} {gradus.has_momentum} : tensor<64xf32>
  // CHECK: gradus.schedule @train
  // CHECK: gradus.variant @train_dense
}

// -----

// Nothing moves what is frozen, but the norm of all gradients has it in it, and
// is the same on all ranks.
// CHECK-LABEL: @frozen
// CHECK-NOT: kept/{{.*}}/b
gradus.program @frozen attributes {recipe = {groups = [{match = ["b"], frozen = true}], distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<64xf32>, %h: tensor<64xf32>) -> () {
    // CHECK-DAG: %[[SUM:.*]] = gradus.all_reduce %h {of = ["b"]} : tensor<64xf32> -> tensor<64xf32>
    // CHECK-DAG: %[[MEAN:.*]] = arith.divf %[[SUM]], %{{.*}} : tensor<64xf32>
    // CHECK-DAG: gradus.update @b, %[[MEAN]] : tensor<64xf32>
    // CHECK-DAG: gradus.select_largest
    gradus.update @w, %g : tensor<64xf32>
    gradus.update @b, %h : tensor<64xf32>
    gradus.return
  }
}

// -----

// Cuts that have slots of their own have momentum of their own. What has not
// been sent waits for any of them.
// CHECK-LABEL: @cuts
// CHECK-DAG: gradus.state @"kept/momentum/w"
// CHECK-DAG: gradus.state @"kept/momentum_cut1/w"
// CHECK-NOT: kept/residual_cut1
gradus.program @cuts attributes {recipe = {optimizer = {type = "sgd", momentum = 0.9}, distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, momentum_correction = true}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train(
  // CHECK: gradus.write @"kept/momentum/w"
  gradus.graph @train(%g: tensor<64xf32>) -> () {
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
  // CHECK: gradus.graph @train_cut1(
  // CHECK: gradus.read @"kept/momentum_cut1/w"
  // CHECK: gradus.write @"kept/momentum_cut1/w"
  gradus.graph @train_cut1(%g: tensor<64xf32>) -> () attributes {gradus.trains = "updates", gradus.cut = "_cut1"} {
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
}

// -----

// A pass before this one has shared the gradient of @v in its own way.
// CHECK-LABEL: @shared
// CHECK-NOT: kept/residual/v
// CHECK-LABEL: gradus.graph @train
// CHECK: gradus.update @v, %h {gradus.of_all_ranks}
gradus.program @shared attributes {recipe = {distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<64xf32>, %h: tensor<64xf32>) -> () {
    gradus.update @v, %h {gradus.of_all_ranks} : tensor<64xf32>
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
}

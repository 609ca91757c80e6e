// RUN: gradus-opt %s --split-input-file --data-parallel --adasum | FileCheck %s
// RUN: gradus-opt %s --split-input-file --data-parallel --adasum --adasum | FileCheck %s
// RUN: gradus-opt %s --split-input-file --data-parallel --adasum --remark-format=emitRemark --remarks-filter="adasum" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: {{.*}}@train: 2 gradients are combined by AdaSum
// REMARK: remark: {{.*}}@train: 2 gradients are combined by AdaSum
// REMARK: remark: {{.*}}@train: 1 gradients are means of groups of ranks
// REMARK: remark: {{.*}}@train: 1 gradients are sums of groups of ranks
// REMARK: remark: {{.*}}@train: 1 gradients are combined by AdaSum
// REMARK-NOT: remark:

// Each gradient is a vector, divided by nothing; 16 bits travel in f32.
// CHECK-LABEL: @each
gradus.program @each attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {within = 2 : i64}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<2xbf16> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  gradus.graph @train(%g: tensor<4xf32>, %h: tensor<2xbf16>) -> () {
    // CHECK-DAG: %[[G:.*]] = gradus.all_reduce %g {groups = #gradus.groups<within 2 mean across adasum epsilon 0.000000e+00 : f64>, of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
    // CHECK-DAG: gradus.update @w, %[[G]] : tensor<4xf32>
    gradus.update @w, %g : tensor<4xf32>
    // CHECK-DAG: %[[WIDE:.*]] = arith.extf %h : tensor<2xbf16> to tensor<2xf32>
    // CHECK-DAG: %[[H:.*]] = gradus.all_reduce %[[WIDE]] {groups = #gradus.groups<within 2 mean across adasum epsilon 0.000000e+00 : f64>, of = ["b"]} : tensor<2xf32> -> tensor<2xf32>
    // CHECK-DAG: %[[BACK:.*]] = arith.truncf %[[H]] : tensor<2xf32> to tensor<2xbf16>
    // CHECK-DAG: gradus.update @b, %[[BACK]] : tensor<2xbf16>
    gradus.update @b, %h : tensor<2xbf16>
    gradus.return
  }
}

// -----

// All gradients are one vector, behind the last of them. MindSpore's rules have
// an epsilon.
// CHECK-LABEL: @all
gradus.program @all attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", mean = false, compat = "mindspore", adasum = {within = 0 : i64, per = "model"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %x: tensor<2xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    %h = arith.addf %x, %x : tensor<2xf32>
    // CHECK: %[[H:.*]] = arith.addf
    // CHECK: %[[ALL:.*]]:2 = gradus.all_reduce %g, %[[H]] {groups = #gradus.groups<within 0 sum across adasum_of_all epsilon {{.*}} : f64>, of = ["w", "b"]}
    // CHECK-DAG: gradus.update @w, %[[ALL]]#0
    // CHECK-DAG: gradus.update @b, %[[ALL]]#1
    gradus.update @b, %h : tensor<2xf32>
    gradus.return
  }
}

// -----

// Where changes of weights are combined, ranks of a group make one update.
// CHECK-LABEL: @weights
gradus.program @weights attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights", within = 4 : i64}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK: %[[G:.*]] = gradus.all_reduce %g {groups = #gradus.groups<within 4 mean across nothing epsilon 0.000000e+00 : f64>, of = ["w"]}
    // CHECK: gradus.update @w, %[[G]]
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// That they share their sum is a matter of gradients.
// CHECK-LABEL: @sums
gradus.program @sums attributes {recipe = {distribution = {mode = "data_parallel", mean = false, reduce = "adasum", adasum = {of = "weights", within = 4 : i64}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    // CHECK: %[[G:.*]] = gradus.all_reduce %g {groups = #gradus.groups<within 4 sum across nothing epsilon 0.000000e+00 : f64>, of = ["w"]}
    // CHECK: gradus.update @w, %[[G]]
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// One rank makes the update that its samples want.
// CHECK-LABEL: @alone
// CHECK-NOT: gradus.all_reduce
// CHECK: gradus.update @w, %g
gradus.program @alone attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// CHECK-LABEL: @off
// CHECK-NOT: gradus.all_reduce
// CHECK: gradus.update @w, %g
gradus.program @off attributes {recipe = {distribution = {mode = "none", reduce = "adasum"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// A pass before this one has shared the gradient of @v in its own way.
// CHECK-LABEL: @shared
// CHECK: gradus.all_reduce %g {{.*}}of = ["w"]
// CHECK-NOT: gradus.all_reduce %h
// CHECK: gradus.update @v, %h {gradus.of_all_ranks}
gradus.program @shared attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %h: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.update @v, %h {gradus.of_all_ranks} : tensor<4xf32>
    gradus.return
  }
}

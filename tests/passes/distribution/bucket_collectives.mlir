// RUN: gradus-opt %s --bucket-collectives | FileCheck %s
// RUN: gradus-opt %s --bucket-collectives --bucket-collectives | FileCheck %s
// RUN: gradus-opt %s --bucket-collectives --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS

// REMARKS: remark: {{.*}}@train: 4 sums over ranks travel in 3 buckets

// Gradients travel together, up to 100 bytes; the last, of at most an eighth, alone.
// CHECK-LABEL: @sizes
gradus.program @sizes attributes {recipe = {distribution = {mode = "data_parallel", bucket_bytes = 100 : i64}}} {
  gradus.graph @train(%x: tensor<12xf32>, %y: tensor<2xf32>) -> (a: tensor<12xf32>, b: tensor<12xf32>, c: tensor<12xf32>, d: tensor<2xf32>) {
    // CHECK: %[[A:.*]] = arith.addf
    %a = arith.addf %x, %x : tensor<12xf32>
    // CHECK-NEXT: %[[B:.*]] = arith.mulf
    %b = arith.mulf %a, %x : tensor<12xf32>
    // CHECK-NEXT: %[[AB:.*]]:2 = gradus.all_reduce %[[A]], %[[B]]
    // CHECK-NEXT: %[[C:.*]] = arith.divf
    %c = arith.divf %b, %x : tensor<12xf32>
    // CHECK-NEXT: %[[CS:.*]] = gradus.all_reduce %[[C]]
    // CHECK-NEXT: %[[D:.*]] = arith.addf
    %d = arith.addf %y, %y : tensor<2xf32>
    // CHECK-NEXT: %[[DS:.*]] = gradus.all_reduce %[[D]]
    %ds = gradus.all_reduce %d : tensor<2xf32> -> tensor<2xf32>
    %cs = gradus.all_reduce %c : tensor<12xf32> -> tensor<12xf32>
    %bs = gradus.all_reduce %b : tensor<12xf32> -> tensor<12xf32>
    %as = gradus.all_reduce %a : tensor<12xf32> -> tensor<12xf32>
    // CHECK-NEXT: gradus.return %[[AB]]#0, %[[AB]]#1, %[[CS]], %[[DS]]
    gradus.return %as, %bs, %cs, %ds : tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<2xf32>
  }
}

// What needs another sum, or is needed before the next can begin, stays apart;
// what waits for none begins before.
// CHECK-LABEL: @needs
gradus.program @needs attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.graph @train(%x: tensor<4x4xf32>) -> (a: tensor<4x4xf32>, b: tensor<4x4xf32>, c: tensor<4x4xf32>) {
    // CHECK: %[[A:.*]] = gradus.all_reduce %x
    %a = gradus.all_reduce %x : tensor<4x4xf32> -> tensor<4x4xf32>
    // CHECK-NEXT: %[[Y:.*]] = gradus.matmul %[[A]]
    %y = gradus.matmul %a, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    // CHECK-NEXT: %[[Z:.*]] = gradus.matmul
    // CHECK-NEXT: gradus.all_reduce %[[Y]], %[[Z]]
    %b = gradus.all_reduce %y : tensor<4x4xf32> -> tensor<4x4xf32>
    %z = gradus.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %c = gradus.all_reduce %z : tensor<4x4xf32> -> tensor<4x4xf32>
    gradus.return %a, %b, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// What unscales a gradient, behind the flag that all of them make, moves up to
// where the gradient is made, and the sum begins there.
// What takes the result of a sum waits for it no earlier than before.
// CHECK-LABEL: @early
gradus.program @early attributes {recipe = {distribution = {mode = "data_parallel", bucket_bytes = 64 : i64}}} {
  gradus.graph @train(%x: tensor<4x4xf32>, %scale: tensor<f32>, %labels: tensor<4xf32>) -> (a: tensor<4x4xf32>, b: tensor<4x4xf32>, f: tensor<f32>, l: tensor<f32>) {
    // CHECK: %[[OWN:.*]] = gradus.reduce sum %labels
    // CHECK-NEXT: %[[COUNT:.*]] = gradus.all_reduce %[[OWN]]
    // CHECK-NEXT: %[[FACTOR:.*]] = gradus.broadcast %scale
    // CHECK-NEXT: %[[G:.*]] = gradus.matmul
    // CHECK: %[[P:.*]] = arith.mulf %[[G]], %[[FACTOR]]
    // CHECK-NEXT: gradus.all_reduce %[[P]]
    // CHECK-NEXT: %[[H:.*]] = gradus.matmul
    // CHECK: %[[FLAG:.*]] = arith.addf
    // CHECK-NEXT: gradus.all_reduce %[[FLAG]]
    // CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[H]], %[[FACTOR]]
    // CHECK-NEXT: gradus.all_reduce %[[Q]]
    // CHECK-NEXT: %[[LOSS:.*]] = arith.divf %{{.*}}, %[[COUNT]]
    // CHECK-NEXT: gradus.all_reduce %[[LOSS]]
    %g = gradus.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %h = gradus.matmul %g, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %gs = gradus.reduce sum %g axes [0, 1] : tensor<4x4xf32> -> tensor<f32>
    %hs = gradus.reduce sum %h axes [0, 1] : tensor<4x4xf32> -> tensor<f32>
    %flag = arith.addf %gs, %hs : tensor<f32>
    %flags = gradus.all_reduce %flag : tensor<f32> -> tensor<f32>
    %own = gradus.reduce sum %labels axes [0] : tensor<4xf32> -> tensor<f32>
    %count = gradus.all_reduce %own : tensor<f32> -> tensor<f32>
    %loss = arith.divf %gs, %count : tensor<f32>
    %losses = gradus.all_reduce %loss : tensor<f32> -> tensor<f32>
    %factor = gradus.broadcast %scale dims [] : tensor<f32> -> tensor<4x4xf32>
    %p = arith.mulf %g, %factor : tensor<4x4xf32>
    %a = gradus.all_reduce %p : tensor<4x4xf32> -> tensor<4x4xf32>
    %q = arith.mulf %h, %factor : tensor<4x4xf32>
    %b = gradus.all_reduce %q : tensor<4x4xf32> -> tensor<4x4xf32>
    gradus.return %a, %b, %flags, %losses : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>, tensor<f32>
  }
}

// A value is shared once.
// CHECK-LABEL: @once
gradus.program @once attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (a: tensor<4xf32>, b: tensor<4xf32>) {
    // CHECK: %[[A:.*]] = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
    // CHECK-NEXT: gradus.return %[[A]], %[[A]]
    %a = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
    %b = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
    gradus.return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// What is combined in groups travels with its like; two combinations of one
// value stay two. AdaSum of all tensors as one stays as it is.
// CHECK-LABEL: @groups
gradus.program @groups attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.graph @train(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (a: tensor<2xf32>, b: tensor<3xf32>, c: tensor<2xf32>, d: tensor<3xf32>) {
    // CHECK-DAG: gradus.all_reduce %x, %y {groups = #gradus.groups<within 1 mean across adasum epsilon 0.000000e+00 : f64>, of = ["x", "y"]}
    // CHECK-DAG: gradus.all_reduce %x : tensor<2xf32> -> tensor<2xf32>
    // CHECK-DAG: gradus.all_reduce %y {groups = #gradus.groups<within 1 mean across adasum_of_all epsilon 0.000000e+00 : f64>}
    %a = gradus.all_reduce %x {groups = #gradus.groups<within 1 mean across adasum epsilon 0.0 : f64>, of = ["x"]} : tensor<2xf32> -> tensor<2xf32>
    %b = gradus.all_reduce %y {groups = #gradus.groups<within 1 mean across adasum epsilon 0.0 : f64>, of = ["y"]} : tensor<3xf32> -> tensor<3xf32>
    %c = gradus.all_reduce %x : tensor<2xf32> -> tensor<2xf32>
    %d = gradus.all_reduce %y {groups = #gradus.groups<within 1 mean across adasum_of_all epsilon 0.0 : f64>} : tensor<3xf32> -> tensor<3xf32>
    gradus.return %a, %b, %c, %d : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
